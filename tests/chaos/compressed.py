"""Scenarios in compressed time: hundreds of kills and issues in minutes, with small daemons. See `tempo` for the scale.

`python -m tests.chaos.compressed KIND FOLDER SEED ...` runs one scenario in a separate process, with its own GitHub,
repository and state directory, so that several use several cores.
"""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from random import Random

from tests.chaos.chronicle import Storm, chronicled
from tests.chaos.damage import Damage, now_and_then, spoiling
from tests.chaos.forked_machine import ForkedMachine, Nursery, nurseries
from tests.chaos.history import History
from tests.chaos.machine import Machine
from tests.chaos.people import BOT, People, Stage
from tests.chaos.small import REPOSITORY, Life
from tests.chaos.storms import LAG, Scene, again, calm
from tests.chaos.tempo import SPEED, FastWorld, Tempo

_SECONDS = (0.055, 0.4)
_WRITES = 40
"""A life ends after so many seconds, or after so many writes at most: however slow the machine, it gets somewhere."""
_LONGEST = 20.0
AT_ONCE = 12
_PATIENCE, _PER_ISSUE = 30.0, 2.0
_CLAIM = 60.0
_LONGER_THAN_A_CLAIM = _CLAIM * 1.2 / SPEED
_ROUNDS = 4
_TIDYING = 50


def weather() -> Storm:
    return Storm(dropped=0.1, broken=0.02, limited=0.01)


def fast_folder() -> Path | None:
    """Returns the fastest folder: killed processes lose nothing that they wrote, on any disk."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


async def _tidied(machine: ForkedMachine) -> None:
    """Waits for the clean-up: a standby daemon takes over as soon as the other has ended, and sweeps when it starts."""
    for second in (False, True):
        if second:
            await machine.stop()
            await machine.start()
        for _ in range(_TIDYING):
            if not machine.sample().worktrees and set(machine.phases().values()) <= {"done", "asking"}:
                return
            await asyncio.sleep(0.1)


@asynccontextmanager
async def scene(
    folder: Path, seed: int, storm: Storm, born: Sequence[Nursery], *, claim: float = 180.0
) -> AsyncIterator[Scene]:
    """A machine for each nursery. At the end the daemons are stopped, and the machines are inspected."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tempo, storm.random = Tempo(time.time()), Random(seed + 1)
    history = History(folder / "history.jsonl", tempo.now)
    history.note("seed", seed=seed)
    world = FastWorld(folder / "github", tempo)
    world.lag = LAG
    path = str(world.add_repository(REPOSITORY, ana="write", **{BOT: "write"}).path)
    with chronicled(world, history, storm) as github:
        token, homes = github.token_for(BOT), []
        for number, nursery in enumerate(born):
            machine = folder / f"machine{number}"
            machine.mkdir()
            life = Life(str(machine), github.url, path, token, tempo.origin, tempo.speed, claim)
            homes.append(ForkedMachine(machine, history, {}, nursery=nursery, life=life))
        try:
            yield Scene(github, People(github), homes, history, Random(seed))
            for machine in homes:
                await _tidied(machine)
                await machine.stop()
                machine.inspect()
        finally:
            for machine in homes:
                if machine.alive and machine.strike():
                    await machine.bury()


async def at_random(scene: Scene, *, issues: int, kills: int, seconds: float) -> None:
    """Kills the daemon repeatedly, at its start or during work; then leaves it alone."""
    scene.people.ask(issues, at_once=AT_ONCE)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        await scene.machine.start()
        while scene.machine.kills < kills and loop.time() < end and not people.done():
            await _a_life(scene)
            assert scene.machine.alive, f"it fell by itself: see {scene.machine.folder}"
            await again(scene.machine)
        await _calm(scene, people)


async def _a_life(scene: Scene) -> None:
    if scene.random.random() < 0.5:
        await asyncio.sleep(scene.random.uniform(*_SECONDS))
        return
    enough = scene.github.written + scene.random.randint(1, _WRITES)
    end = asyncio.get_running_loop().time() + _LONGEST
    while scene.github.written < enough and not scene.people.content and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.01)


async def side_by_side(scene: Scene, *, issues: int) -> None:
    """Runs several daemons on one repository: they are killed, or suspended for longer than a lease lasts."""
    scene.people.ask(issues)
    random = scene.random
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        for machine in scene.machines:
            await machine.start()
        for _ in range(_ROUNDS):
            await asyncio.wait([people], timeout=random.uniform(0.1, 1.5))
            machine = random.choice(scene.machines)
            if random.random() < 0.5:
                await again(machine)
            else:
                machine.pause()
                await asyncio.wait([people], timeout=random.uniform(0.1, 2.0) * _LONGER_THAN_A_CLAIM)
                machine.go_on()
        await _calm(scene, people)


async def _calm(scene: Scene, people: asyncio.Task[None]) -> None:
    left = scene.people.waiting + sum(stage is not Stage.TIDIED for stage in scene.people.stages.values())
    await calm(scene, people, within=_PATIENCE + _PER_ISSUE * left)


async def _random(folder: Path, seed: int, issues: str, kills: str, seconds: str) -> None:
    await _stormy(folder, seed, issues, kills, seconds, lambda _: None)


async def _forgetting(folder: Path, seed: int, issues: str, kills: str, seconds: str) -> None:
    await _stormy(folder, seed, issues, kills, seconds, now_and_then(Machine.forget, Random(seed + 2), 0.1))


async def _damaged(folder: Path, seed: int, issues: str, kills: str, seconds: str) -> None:
    random = Random(seed + 2)
    await _stormy(folder, seed, issues, kills, seconds, now_and_then(spoiling(random), random, 0.1))


async def _stormy(folder: Path, seed: int, issues: str, kills: str, seconds: str, between: Damage) -> None:
    async with nurseries(1) as born, scene(folder, seed, weather(), born) as here:
        here.machine.between = between
        await at_random(here, issues=int(issues), kills=int(kills), seconds=float(seconds))


async def _side_by_side(folder: Path, seed: int, seeds: str, seconds: str) -> None:
    """Makes one history for each seed."""
    end = time.monotonic() + float(seconds)
    async with nurseries(2) as born:
        for one in range(seed, seed + int(seeds)):
            if time.monotonic() > end:
                return
            async with scene(folder / str(one), one, weather(), born, claim=_CLAIM) as here:
                await side_by_side(here, issues=2)


async def _soak(folder: Path, seed: int, seconds: str) -> None:
    """Runs one daemon for long under faults: an idle one holds no more than after its first issues."""
    async with nurseries(1) as born, scene(folder, seed, weather(), born) as here:
        machine = here.machines[0]
        assert isinstance(machine, ForkedMachine)
        await machine.start()
        await _worked_through(here, AT_ONCE)
        before = machine.sample()
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            await _worked_through(here, AT_ONCE)
        here.history.note("soaked", machine=machine.folder.name, before=asdict(before), after=asdict(machine.sample()))


async def _worked_through(scene: Scene, issues: int) -> None:
    scene.people.ask(issues)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        await asyncio.wait([people], timeout=_PATIENCE + _PER_ISSUE * issues)
        people.cancel()
    await asyncio.sleep(1.0)


KINDS: dict[str, Callable[..., Awaitable[None]]] = {
    "random": _random,
    "forgetting": _forgetting,
    "damaged": _damaged,
    "side_by_side": _side_by_side,
    "soak": _soak,
}

if __name__ == "__main__":
    asyncio.run(KINDS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]))
