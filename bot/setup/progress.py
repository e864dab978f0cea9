"""Progress of setup and verification: reports each command as transcript events, like a tool call of the agent."""

import contextlib
from collections.abc import Callable, Iterator

from bot.domain.turn import Event, EventKind
from bot.ports import EventSink


@contextlib.contextmanager
def report_progress(emit: EventSink, clock: Callable[[], float], tool: str, name: str, text: str) -> Iterator[None]:
    """Counts as progress of the turn, so that stall detection does not end it."""
    emit(Event(EventKind.TOOL, clock(), text, tool, name))
    try:
        yield
    finally:
        emit(Event(EventKind.TOOL_RESULT, clock(), id=name))
