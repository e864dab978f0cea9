"""Logging: one line per event, redacted, to stderr and to a rotated file.

Rule: untrusted text cannot start a new line; every line names its run. A terminal gets lines for people, with less.
"""

import json
import logging
import logging.handlers
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bot.system.log_context import log_context

MAX_FILE_BYTES = 10_000_000
ROTATED_FILES = 3

_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_QUIETED_LIBRARIES = ("apscheduler", "httpx", "httpcore", "uvicorn", "mcp", "asyncio")
_OF_RUN = re.compile(r"journal run=(\S+): (.*)", re.DOTALL)
_FIRST_RUN = "/1"
"""End of the id of an issue's first run: people know the run by the key of the issue."""
_TRACEBACK_PREFIX = "    | "
"""Prefix of traceback lines, so that none looks like a log line."""


class _TextFormatter(logging.Formatter):
    """Text for people. Escapes line ends and control sequences of untrusted text."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(_FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Redacts the traceback as well."""
        return self._redact(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - a name of the standard library
        line = _escape_unprintable(super().formatMessage(record))
        return " ".join([line, *(one for one in _context_fields() if one not in line.split())])

    def formatException(self, ei: object) -> str:  # noqa: N802
        lines = super().formatException(ei).splitlines()  # type: ignore[arg-type]
        return "\n".join(f"{_TRACEBACK_PREFIX}{_escape_unprintable(line)}" for line in lines)

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return "\n".join(f"{_TRACEBACK_PREFIX}{_escape_unprintable(line)}" for line in stack_info.splitlines())


class _PersonFormatter(_TextFormatter):
    """Text for the person at a terminal: the time of day, the run, and the level only if it is no information."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        message, run = _escape_unprintable(record.message), log_context().get("run", "")
        if found := _OF_RUN.match(message):
            run, message = found.groups()
        parts = [
            self.formatTime(record, "%H:%M:%S"),
            run.removesuffix(_FIRST_RUN),
            "" if record.levelno == logging.INFO else f"{record.levelname.lower()}:",
            message.replace(f" run={run}", "") if run else message,
        ]
        return " ".join(part for part in parts if part)


class _JsonFormatter(logging.Formatter):
    """JSON for programs: one object per line."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        found = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
            **log_context(),
        }
        if record.exc_info:
            found["trace"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(found)


class _RotatingFile(logging.handlers.RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - a name of the standard library
        """Ignores write errors of a full disk; stderr has the same lines."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def configure_logging(
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
        handlers.append(_RotatingFile(file, maxBytes=MAX_FILE_BYTES, backupCount=ROTATED_FILES, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(_formatter_for(handler, form)(redact))
    logging.basicConfig(handlers=handlers or [logging.NullHandler()], force=True)
    set_level(level)


def _formatter_for(handler: logging.Handler, form: str) -> Callable[[Callable[[str], str]], logging.Formatter]:
    if form == "json":
        return _JsonFormatter
    on_terminal = type(handler) is logging.StreamHandler and handler.stream.isatty()
    return _PersonFormatter if on_terminal else _TextFormatter


def set_level(level: str) -> None:
    logging.root.setLevel(level.upper())
    for name in _QUIETED_LIBRARIES:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.root.level))


def _context_fields() -> list[str]:
    return [f"{name}={_escape_unprintable(value)}" for name, value in log_context().items()]


def _escape_unprintable(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
