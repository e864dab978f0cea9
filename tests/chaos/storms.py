"""Scenarios: which daemon is killed when, and which other faults occur. Each writes a history for the checker."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bot.agents.claude import program
from bot.demo.scripted_model import ScriptedModel
from tests.chaos.chronicle import CLAIM, KINDS, WHENS, Chronicle, Moment, Storm, chronicled
from tests.chaos.history import History
from tests.chaos.machine import REPOSITORY, Machine, furnished
from tests.chaos.people import BOT, People, Stage, play
from tests.fakes.github.repository_actions import GitHubWorld

LAG = 0.3
_GETTING_UP = (0.3, 2.5)
_CALM_SECONDS, _PER_ISSUE = 100.0, 45.0
"""Seconds allowed after the last fault. An unconfirmed comment is awaited for a minute, and an issue
takes about 21 writes, of which one goes out in a second."""


@dataclass
class Scene:
    github: Chronicle
    people: People
    machines: Sequence[Machine]
    history: History
    random: Random
    model: ScriptedModel | None = None

    @property
    def machine(self) -> Machine:
        return self.machines[0]


async def program_seen(folder: Path) -> Path:
    """Checks the agent's program once for all machines, because it is large."""
    if not folder.exists():
        folder.mkdir(parents=True)
        await program.check_version(program.find_installed(), folder)
    return folder


@asynccontextmanager
async def scene(
    folder: Path, seed: int, storm: Storm | None = None, *, machines: int = 1, sandbox: str = "none"
) -> AsyncIterator[Scene]:
    """A machine. At the end the daemons are stopped, and the machines are inspected."""
    looked = await program_seen(folder.parent / "program")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    history, random = History(folder / "history.jsonl"), Random(seed)
    history.note("seed", seed=seed)
    storm = storm or Storm()
    storm.random = Random(seed + 1)
    world = GitHubWorld(folder / "github")
    world.lag = LAG
    world.add_repository(REPOSITORY, ana="write", **{BOT: "write"})
    with chronicled(world, history, storm) as github:
        async with ScriptedModel(play) as model:
            token = github.token_for(BOT)
            homes = [
                furnished(
                    folder / f"machine{number}", history, url=github.url, token=token, model=model.url,
                    program=looked, sandbox=sandbox,
                )
                for number in range(machines)
            ]  # fmt: skip
            try:
                yield Scene(github, People(github), homes, history, random, model)
                for machine in homes:
                    if machine.alive:
                        await machine.settled()
                        await machine.stop()
                    machine.inspect()
            finally:
                for machine in homes:
                    if machine.alive:
                        machine.strike()
                        await machine.bury()


async def at_random(scene: Scene, *, issues: int, seconds: float, kills: int, every: tuple[float, float]) -> None:
    """Kills the daemon repeatedly at any moment; then leaves it alone."""
    scene.people.ask(issues)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        await scene.machine.start()
        while loop.time() < end and scene.machine.kills < kills and not people.done():
            await asyncio.wait([people], timeout=scene.random.uniform(*every))
            await again(scene.machine)
        await calm(scene, people)


async def again(machine: Machine) -> None:
    machine.strike()
    await machine.rise()


async def at_moments(
    scene: Scene, moments: Sequence[tuple[str, str]], *, issues: int, seconds: float, twice: bool = False
) -> list[str]:
    """Kills it at each of these moments once; `twice`: again during its start. Returns the moments that never came."""
    machine, struck = scene.machine, asyncio.Event()
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds

    def strike() -> bool:
        hit = machine.strike()
        if hit:
            loop.call_soon_threadsafe(struck.set)
        return hit

    scene.github.moments = [Moment(kind, when, strike) for kind, when in moments]
    scene.people.ask(issues)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        await machine.start()
        while scene.github.moments and not people.done() and loop.time() < end:
            waiting = group.create_task(struck.wait())
            await asyncio.wait([people, waiting], return_when=asyncio.FIRST_COMPLETED, timeout=end - loop.time())
            waiting.cancel()
            struck.clear()
            if machine.struck:
                await machine.rise()
                if twice:
                    await _while_it_gets_up(scene)
        never = [f"{one.kind}/{one.when}" for one in scene.github.moments]
        await calm(scene, people)
    return never


async def _while_it_gets_up(scene: Scene) -> None:
    """Kills it again during its start; this uses up no moment."""
    scene.github.resting = True
    await asyncio.sleep(scene.random.uniform(*_GETTING_UP))
    await again(scene.machine)
    scene.github.resting = False


def dying_at(commit: int) -> Sequence[str]:
    """Command prefix that kills the daemon at its n-th fsync."""
    strike = f"inject=fdatasync:signal=SIGKILL:when={commit}"
    return ("strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", strike)


async def at_commits(scene: Scene, *, issues: int, seconds: float, most: int) -> None:
    """Kills the daemon in the middle of commits to a database."""
    scene.people.ask(issues)
    machine, loop = scene.machine, asyncio.get_running_loop()
    end = loop.time() + seconds
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        while loop.time() < end and not people.done():
            machine.within = dying_at(scene.random.randint(1, most))
            await machine.start()
            falling = group.create_task(machine.fall())
            await asyncio.wait([people, falling], return_when=asyncio.FIRST_COMPLETED, timeout=end - loop.time())
            if not falling.done():
                machine.strike()
                await falling
            await machine.bury()
        machine.within = ()
        await machine.start()
        await calm(scene, people)


async def side_by_side(scene: Scene, *, issues: int) -> None:
    """Runs two independent daemons on one repository."""
    scene.people.ask(issues)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        for machine in scene.machines:
            await machine.start()
        await calm(scene, people)


async def calm(scene: Scene, people: asyncio.Task[None], *, within: float = 0.0) -> None:
    """Ends all faults and waits until all people are content; the checker reports those who are not."""
    scene.github.storm.over = True
    scene.github.moments.clear()
    scene.history.note("calm")
    left = sum(stage is not Stage.TIDIED for stage in scene.people.stages.values())
    end = asyncio.get_running_loop().time() + (within or _CALM_SECONDS + _PER_ISSUE * left)
    while not people.done() and asyncio.get_running_loop().time() < end:
        for machine in scene.machines:
            await machine.rise()  # a request that was under way may have struck it
        await asyncio.wait([people], timeout=1)
    people.cancel()


EVERY_MOMENT = [(kind, when) for kind in (*KINDS, CLAIM) for when in WHENS]
WORTH_FORGETTING = [
    ("comment", "effect"), ("pull request", "answer"), ("reaction", "effect"), ("push", "effect"),
    ("unlabel", "answer"), ("branch", "before"),
]  # fmt: skip
