"""What git does for a turn is an event of the turn: rarely, and not as a part of the conversation."""

import asyncio

from bot.domain.turn import Event, EventKind, Progress
from bot.git import progress
from bot.git.progress import GitStep
from bot.workspace import step_events
from bot.workspace.step_events import report_git


async def test_events_are_rare_and_the_end_is_always_told(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(step_events.clock, "now", lambda: now)
    seen: list[Event] = []
    with report_git(seen.append):
        tell = progress._tell.get()
        tell(GitStep("Fetching 1 %"))
        tell(GitStep("Fetching 2 %"))
        now = 1005.0
        await asyncio.to_thread(tell, GitStep("Fetching 3 %; no progress for 1 min", moves=False))
        tell(GitStep())
    await asyncio.sleep(0)
    assert [(one.kind, one.text) for one in seen] == [
        (EventKind.STEP, "Fetching 1 %"),
        (EventKind.WAITING, "Fetching 3 %; no progress for 1 min"),
        (EventKind.STEP, ""),
    ]
    assert progress._tell.get() is None


def test_a_step_is_progress_and_waiting_is_none():
    at_work = Progress(last_event_at=1).after(Event(EventKind.STEP, 2, "Fetching 1 %"))
    assert (at_work.action, at_work.last_event_at, at_work.tools_running) == ("Fetching 1 %", 2, frozenset())
    still = at_work.after(Event(EventKind.WAITING, 300, "Fetching 1 %; no progress for 4 min"))
    assert (still.action, still.last_event_at) == ("Fetching 1 %; no progress for 4 min", 2)
