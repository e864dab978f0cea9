"""Engine in the imaginary world that can crash at any verb, before or after its effect, and is restarted."""

import asyncio
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.branch_name import branch_for
from bot.domain.policy import Policy
from bot.domain.run import Phase
from bot.domain.turn import TurnState
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.errors import Retryable
from bot.ports import Ports, Project
from bot.store.runs import RunStore
from tests.fakes.ports import FakeExecutor, FakeForge, FakeTracker, FakeWorkspaces
from tests.fakes.world import World

CAP = 2
_TURNS_OF_THE_LOOP = 400
_LOOKS = 40


@dataclass
class MortalWorld(World):
    doomed: str = ""
    """The verb that its caller does not live to see through."""
    after: bool = False
    """It has its effect first."""
    died: bool = False

    def reach(self, verb: str = "", *, network: bool = True) -> None:
        super().reach(verb, network=network)
        if not self.after:
            self._die_at(verb)

    def answer(self, verb: str) -> None:
        super().answer(verb)
        if self.after:
            self._die_at(verb)

    def _die_at(self, verb: str) -> None:
        if self.died or (self.doomed and verb == self.doomed):
            self.died, self.doomed = True, ""
            raise asyncio.CancelledError


@dataclass
class Mortal:
    world: MortalWorld = field(default_factory=MortalWorld)
    policy: Policy = field(default_factory=lambda: Policy(max_working=CAP, max_working_per_project=CAP, base="main"))
    moved: bool = False

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="treehand-machine-"))
        self._loop = asyncio.Runner()
        self._lives = 0
        self._remember()
        self._begin()

    def end(self) -> None:
        self._drop()
        self._loop.close()
        self.store.close()
        shutil.rmtree(self.folder)

    def tick(self) -> None:
        """Ticks while something changes; starts the daemon again if a tick kills it."""
        for _ in range(_LOOKS):
            self.moved = False
            self._loop.run(self._look())
            if self.world.died:
                self.restart()
            elif not self.moved:
                return
        raise AssertionError("it never comes to rest")

    def restart(self, *, forgetting: bool = False) -> None:
        """kill -9: work in progress is left as it is, agents die with the daemon, and the next one cleans up first."""
        self._drop()
        self.world.died = False
        self.world.forget_turns()
        if forgetting:
            self.world.turns.clear()  # the book went with the database
            self.store.close()
            self._remember()
        self._begin()

    def open_branches(self) -> Collection[str]:
        return [branch_for(run) for run in self.store.active()]

    def running(self) -> list[str]:
        return [name for name, report in self.world.turns.items() if report.state is TurnState.RUNNING]

    def phase(self, key: str) -> Phase | None:
        run = self.store.find_run(key)
        return run and run.phase

    def _remember(self) -> None:
        self._lives += 1
        self.store = RunStore.open(self.folder / f"life{self._lives}.db")

    def _begin(self) -> None:
        world, store = self.world, self.store
        project = Project(
            "shop", FakeTracker(world), FakeForge(world), FakeWorkspaces(world), self.policy, hand_over=world.by_hand
        )
        capacity = lambda: Capacity(CAP)  # noqa: E731
        self._engine = Engine(
            Ports({"shop": project}, FakeExecutor(world), store),
            clock=world.clock, capacity=capacity, on_change=self._note_change,
        )  # fmt: skip
        self._workspaces = project.workspaces
        self._loop.run(self._engine.__aenter__())
        self.moved = True

    def sweep(self) -> None:
        """Sweeps as at the start and hourly."""
        self._loop.run(self._workspaces.sweep(self.open_branches()))

    def _note_change(self) -> None:
        self.moved = True

    async def _look(self) -> None:
        """Runs until idle. Calls here take no time: work that is not over after so many loop iterations never ends."""
        self._engine.expect_news()
        try:
            await self._engine.tick()
        except asyncio.CancelledError:
            assert self.world.died
            return
        except Retryable:
            return
        settled = asyncio.get_running_loop().create_task(self._engine.wait_until_idle())
        for _ in range(_TURNS_OF_THE_LOOP):
            await asyncio.sleep(0)
            if settled.done() or self.world.died:
                break
        settled.cancel()
        assert settled.done() or self.world.died, "a step does not end"

    def _drop(self) -> None:
        self._engine.abandon()
        self._loop.run(_a_moment())


async def _a_moment() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
