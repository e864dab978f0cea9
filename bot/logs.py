"""Logging: one line per thing that happened, to stderr and to a file that never grows without end."""

import logging
import logging.handlers
import sys
from collections.abc import Callable
from pathlib import Path

_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_NOISY = ("apscheduler", "httpx", "httpcore", "uvicorn", "mcp", "asyncio")


class _OneLine(logging.Formatter):
    """What others say may hold line ends and escape sequences; a log line is one line of plain text."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(_FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The traceback included."""
        return self._redact(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name in the standard library
        return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in super().formatMessage(record))


class _File(logging.handlers.RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name in the standard library
        """On a full disk nothing can be written, and nobody needs to be told at each line; stderr has them as well."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def set_up(*, file: Path | None = None, quiet: bool = False, redact: Callable[[str], str] = str) -> None:
    handlers: list[logging.Handler] = [] if quiet else [logging.StreamHandler()]
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(_File(file, maxBytes=10_000_000, backupCount=3, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(_OneLine(redact))
    logging.basicConfig(level=logging.INFO, handlers=handlers or [logging.NullHandler()], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
