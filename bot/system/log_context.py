"""Log context: the run, issue, project and turn that every line of the log names.

Rule: it is set around the work and passed on to tasks and threads that the work starts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_EMPTY: Mapping[str, str] = MappingProxyType({})
_context: ContextVar[Mapping[str, str]] = ContextVar("log_context", default=_EMPTY)


def log_context() -> Mapping[str, str]:
    """Keyed by name, in the order people want to read it: project, issue, run, turn."""
    return _context.get()


@contextmanager
def logging_about(*, project: str, issue: str, run: str, turn: str = "") -> Iterator[None]:
    token = _context.set({"project": project, "issue": issue, "run": run, **({"turn": turn} if turn else {})})
    try:
        yield
    finally:
        _context.reset(token)
