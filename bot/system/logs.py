"""Logging: one line per thing that happened, to stderr and to a file that never grows without end.

Rule: whatever others say, a line is one line, of what was logged and by whom; and it says which run it is about.
"""

import json
import logging
import logging.handlers
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bot.system.log_context import subject

_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_NOISY = ("apscheduler", "httpx", "httpcore", "uvicorn", "mcp", "asyncio")
_TRACE = "    | "
"""Ahead of each line of a traceback: none of them can be taken for a line of the log."""


class _AsText(logging.Formatter):
    """For people. What others say may hold line ends and escape sequences: they are spelled out."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(_FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The traceback included."""
        return self._redact(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name in the standard library
        said = _plain(super().formatMessage(record))
        return " ".join([said, *(one for one in _fields() if one not in said.split())])

    def formatException(self, ei: object) -> str:  # noqa: N802
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]
        return "\n".join(f"{_TRACE}{_plain(line)}" for line in lines)

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return "\n".join(f"{_TRACE}{_plain(line)}" for line in stack_info.splitlines())


class _AsJson(logging.Formatter):
    """For programs: one object a line."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        found = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
            **subject(),
        }
        if record.exc_info:
            found["trace"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(found)


class _File(logging.handlers.RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name in the standard library
        """On a full disk nothing can be written, and nobody needs to be told at each line; stderr has them as well."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def set_up(
    *,
    file: Path | None = None,
    quiet: bool = False,
    redact: Callable[[str], str] = str,
    form: str = "text",
    level: str = "info",
) -> None:
    handlers: list[logging.Handler] = [] if quiet else [logging.StreamHandler()]
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(_File(file, maxBytes=10_000_000, backupCount=3, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(_AsJson(redact) if form == "json" else _AsText(redact))
    logging.basicConfig(level=level.upper(), handlers=handlers or [logging.NullHandler()], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.root.level))


def _fields() -> list[str]:
    return [f"{name}={_plain(value)}" for name, value in subject().items()]


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
