"""Time from "the label is visible" to "the agent's process is spawned", compared with a bare `git worktree add`.

Visible means that the tracker returns it: the clock starts with the tick that sees the label. The time between label
and tick is the poll interval (one second for the local tracker), which is not counted.
"""

import asyncio
import shutil
import time
from pathlib import Path

from figures import Figure, middle
from grounds import PROJECT, Grounds, bot, make_repository, plain_git, settings_for

from bot.domain.run import Phase
from bot.domain.turn import AgentTask, TurnReport, TurnState
from bot.ports import EventSink, Inbox

FILES = 20_000
_TIMES = 7


class Sprinter:
    """Records when it would have spawned, and waits to be stopped."""

    def __init__(self) -> None:
        self.spawned: asyncio.Queue[float] = asyncio.Queue()

    async def run(self, work: AgentTask, inbox: Inbox, notice: EventSink) -> TurnReport:
        self.spawned.put_nowait(time.perf_counter())
        assert (work.folder / "src" / f"part{FILES // 100 - 1:03}" / "module99.py").is_file()
        await asyncio.Event().wait()
        return TurnReport(TurnState.STOPPED)


async def measure(folder: Path) -> list[Figure]:
    commit = make_repository(folder / "repository", FILES)
    ours, bare = [], []
    agent = Sprinter()
    async with bot(settings_for(folder, working=_TIMES + 1, working_per_project=_TIMES + 1), agent) as grounds:
        await _spawned(grounds, agent, "the first fetch of all")
        for go in range(_TIMES):
            steps = (lambda: _spawned(grounds, agent, f"go {go}"), lambda: _added(folder, commit, go))  # noqa: B023
            for step in steps if go % 2 else reversed(steps):
                seconds = await step()
                (ours if step is steps[0] else bare).append(seconds)
    return [
        Figure("git worktree add, 20,000 files (reference)", middle(bare), "s"),
        Figure("label visible -> agent spawned, 20,000 files", middle(ours), "s"),
        Figure("label visible -> agent spawned / git worktree add", middle(ours) / middle(bare), "x", 1.15),
    ]


async def _spawned(grounds: Grounds, agent: Sprinter, title: str) -> float:
    key = grounds.ask(title)
    began = time.perf_counter()
    await grounds.app.engine.tick()
    while agent.spawned.empty():  # as the daemon does
        await grounds.app.woken.wait()
        grounds.app.woken.clear()
        await grounds.app.engine.tick()
        if grounds.app.store.find_run(key).turns.number:
            break
    seconds = await agent.spawned.get() - began
    await _over(grounds, key)
    return seconds


async def _over(grounds: Grounds, key: str) -> None:
    """Removes a worktree at once, like `git worktree add`: pending writes of one side would slow the next."""
    await grounds.app.engine.wait_until_idle()
    grounds.people.issues(PROJECT).unlabel(grounds.people.parse_key(key)[1], "ai", by="ada")
    while grounds.app.store.find_run(key).phase is not Phase.DONE:
        await grounds.app.engine.tick()
        await grounds.app.engine.wait_until_idle()


async def _added(folder: Path, commit: str, go: int) -> float:
    place = folder / f"bare-{go}"
    began = time.perf_counter()
    await asyncio.to_thread(plain_git, folder / "repository", "worktree", "add", "-q", "--detach", str(place), commit)
    seconds = time.perf_counter() - began
    shutil.rmtree(place)
    return seconds
