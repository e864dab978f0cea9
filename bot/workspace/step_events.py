"""Reports what git does for a turn as events of the turn: each few seconds one."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.domain.turn import Event, EventKind
from bot.git.progress import GitStep, telling
from bot.system import clock

_SECONDS = 5.0
"""Each event is a line of the transcript."""


@contextmanager
def report_git(emit: Callable[[Event], None]) -> Iterator[None]:
    """Call it in the event loop. Commands that end within seconds are not reported."""
    with telling(_Reporter(emit).tell):
        yield


class _Reporter:
    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit, self._loop = emit, asyncio.get_running_loop()
        self._at = 0.0

    def tell(self, step: GitStep) -> None:
        now = clock.now()
        if step.text and abs(now - self._at) < _SECONDS:
            return
        self._at = now
        event = Event(EventKind.STEP if step.moves else EventKind.WAITING, now, step.text)
        self._loop.call_soon_threadsafe(self._emit, event)
