"""One server of a run's, started by a person who wants to look at the work, in the run's own worktree.

Rule: what it runs is an agent's work, so it is confined like an agent's own commands, without a way to a model. Of one
worktree one is up at a time, whoever started it.
"""

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.domain.setup_plan import Step
from bot.domain.turn import Ground
from bot.errors import NeedsHuman
from bot.sandbox.interface import Bench, Sandbox
from bot.setup.environment import names_for, places_in
from bot.setup.run_command import Command, Outcome, run

_LOOK_SECONDS = 0.5
_LOOKS = 10
_KILLED = frozenset({-15, -9, 128 + 15, 128 + 9})
"""Exit codes of what was ended by somebody else."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where it is shown."""

    branch: str
    ground: Ground
    home: Path
    """For its own use, while it lasts."""
    cache: Path | None
    ports: Sequence[int]
    marker: str

    @property
    def address(self) -> str:
        """By a name of its own: what a browser keeps for our pages is not sent there."""
        return f"http://localhost:{self.ports[0]}/"


def marker_for(house: str, branch: str) -> str:
    """Of every process that it starts. No daemon that begins takes it for an orphan of its own."""
    return f"show-{house}:{branch}"


async def show(
    stage: Stage,
    step: Step,
    sandbox: Sandbox,
    *,
    begun: Callable[[], None],
    heard: Callable[[bytes], None],
    is_over: Callable[[], bool],
) -> Outcome | None:
    """Until it ends; None: it was ended, since what it shows is over. Cancelled, it ends it first.

    `begun`: nothing is in its way.
    """
    async with _bench(stage, sandbox) as bench:
        begun()
        told = {**names_for(stage.branch, stage.ports), **(places_in(stage.cache) if stage.cache else {})}
        environment = {**told, "BROWSER": "none"}
        folder = stage.ground.folder / step.folder
        command = Command(step.command, folder, environment, stage.marker, heard=heard)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(_run(command, bench))
            watching = group.create_task(_until(is_over))
            await asyncio.wait([running, watching], return_when=asyncio.FIRST_COMPLETED)
            ended = running.done()
            for task in (running, watching):
                task.cancel()
        outcome = running.result() if ended else None
    if isinstance(outcome, NeedsHuman):
        raise outcome
    return None if outcome and outcome.code in _KILLED and await _is_soon(is_over) else outcome


async def _is_soon(is_over: Callable[[], bool]) -> bool:
    """What clears a worktree away ends what runs there first, and says so afterwards."""
    for _ in range(_LOOKS):
        if is_over():
            return True
        await asyncio.sleep(_LOOK_SECONDS)
    return False


async def _run(command: Command, bench: Bench) -> Outcome | NeedsHuman:
    """Its trouble is a value, so that it comes out of a group as itself."""
    try:
        return await run(command, bench, seconds=None)
    except NeedsHuman as problem:
        return problem


@asynccontextmanager
async def _bench(stage: Stage, sandbox: Sandbox) -> AsyncIterator[Bench]:
    stage.home.mkdir(parents=True, exist_ok=True)
    with _alone(stage.home):
        try:
            async with sandbox.open_trial(
                stage.ground, stage.home, stage.cache, stage.marker, ports=stage.ports
            ) as bench:
                yield bench
        finally:
            await asyncio.to_thread(shutil.rmtree, stage.home, ignore_errors=True)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Who comes second would take the first one's ports, and its home when it goes."""
    opened = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(opened)
        yield
    finally:
        os.close(opened)


def _lock(opened: int) -> None:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise NeedsHuman(
            "One of this run's servers is up already, and of one worktree one is up at a time: stop it first."
        ) from exc


async def _until(is_over: Callable[[], bool]) -> None:
    while not is_over():  # noqa: ASYNC110 - what it waits for is done by other processes
        await asyncio.sleep(_LOOK_SECONDS)
