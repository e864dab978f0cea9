"""The daemon with 200 working runs, each with 20 events a second for half a minute: costs and losses."""

import asyncio
import contextlib
import resource
import time
from pathlib import Path

from figures import Figure
from grounds import PROJECT, bot, make_repository, settings_for

from bot.daemon import Daemon
from bot.domain.turn import Event, EventKind, TurnOrder, TurnReport, TurnState
from bot.ports import EventSink, Inbox

AGENTS, PER_SECOND, SECONDS = 200, 20, 30


class Chatter:
    """A turn with events by the clock: late ones are sent at once, so that all fall into the half minute."""

    def __init__(self) -> None:
        self.all_there = asyncio.Barrier(AGENTS + 1)
        self.begun = 0
        self.sent = 0

    async def __call__(self, request: TurnOrder, inbox: Inbox, notice: EventSink) -> TurnReport:
        self.begun += 1
        await self.all_there.wait()
        loop = asyncio.get_running_loop()
        start = loop.time()
        for number in range(PER_SECOND * SECONDS):
            await asyncio.sleep(max(start + number / PER_SECOND - loop.time(), 0))
            notice(_event(number))
            self.sent += 1
        await asyncio.Event().wait()
        return TurnReport(TurnState.STOPPED)


def _event(number: int) -> Event:
    name = f"tool-{number // 3}"
    match number % 3:
        case 0:
            return Event(EventKind.TEXT, time.time(), "I look at how the basket counts its packets. " * 4, tokens=120)
        case 1:
            return Event(EventKind.TOOL, time.time(), "runs the tests", tool="Bash", id=name)
        case _:
            return Event(EventKind.TOOL_RESULT, time.time(), "ran 14 tests, all fine\n" * 10, id=name)


class NoAgent:
    async def sweep(self) -> int:
        return 0


async def measure(folder: Path) -> list[Figure]:
    make_repository(folder / "repository", 10)
    chatter = Chatter()
    async with bot(settings_for(folder, working=AGENTS, working_per_project=AGENTS), NoAgent(), chatter) as grounds:
        for number in range(AGENTS):
            grounds.ask(f"issue {number}")
        daemon = Daemon(grounds.app)
        living = asyncio.create_task(daemon.run())
        await chatter.all_there.wait()
        began, before = time.perf_counter(), _cpu()
        await asyncio.sleep(SECONDS + 1)
        while chatter.sent < AGENTS * PER_SECOND * SECONDS:
            await asyncio.sleep(0.05)
        wall, spent = time.perf_counter() - began, _cpu() - before
        reports = await grounds.app.executor.reports()
        living.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await living
        grounds.app.transcripts.flush()
        lines = sum(len(list(grounds.app.transcripts.read(run.id))) for run in grounds.app.store.active())
    assert grounds.app.ports.projects.keys() == {PROJECT}
    counted = sum(report.progress.events for report in reports.values())
    return [
        Figure(f"{AGENTS} agents x {PER_SECOND}/s x {SECONDS} s: cores used", spent / wall, "cores", 1.0),
        Figure("time until all events were sent", wall, "s", SECONDS + 3),
        Figure("events sent", chatter.sent, "events"),
        Figure("events not in the transcripts", chatter.sent - lines, "events", 0),
        Figure("events not in the reports", chatter.sent - counted, "events", 0),
    ]


def _cpu() -> float:
    """Returns the processor time of this process and of its children, such as git."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
