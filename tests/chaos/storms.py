"""The scenarios: who is struck when, and what else goes wrong meanwhile. Each leaves a history to be judged."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bot.agents.claude import program
from bot.demo.model import ScriptedModel
from tests.chaos.chronicle import CLAIM, KINDS, WHENS, Chronicle, Moment, Storm, chronicled
from tests.chaos.history import History
from tests.chaos.house import REPOSITORY, House, furnished
from tests.chaos.people import BOT, People, Stage, play
from tests.fakes.github.on_repositories import GitHubWorld

LAG = 0.3
_GETTING_UP = (0.3, 2.5)
_CALM_SECONDS, _PER_ISSUE = 100.0, 45.0
"""How long it may take after the last fault. A comment of which nothing is known is waited for a minute, and an issue
takes about 21 writes, of which one goes out in a second."""


@dataclass
class Scene:
    github: Chronicle
    people: People
    houses: Sequence[House]
    history: History
    random: Random

    @property
    def house(self) -> House:
        return self.houses[0]


async def program_seen(folder: Path) -> Path:
    """The agent's program is large: looking through it once is enough for all houses."""
    if not folder.exists():
        folder.mkdir(parents=True)
        await program.version(program.find_installed(), folder)
    return folder


@asynccontextmanager
async def scene(
    folder: Path, seed: int, storm: Storm | None = None, *, houses: int = 1, sandbox: str = "none"
) -> AsyncIterator[Scene]:
    """Ends politely: the daemons are stopped, what is left is inspected."""
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
                    folder / f"house{number}", history, url=github.url, token=token, model=model.url,
                    program=looked, sandbox=sandbox,
                )
                for number in range(houses)
            ]  # fmt: skip
            try:
                yield Scene(github, People(github), homes, history, random)
                for house in homes:
                    if house.alive:
                        await house.settled()
                        await house.stop()
                    house.inspect()
            finally:
                for house in homes:
                    if house.alive:
                        house.strike()
                        await house.bury()


async def at_random(scene: Scene, *, issues: int, seconds: float, kills: int, every: tuple[float, float]) -> None:
    """Killed again and again, whatever it is at; then left alone."""
    scene.people.ask(issues)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        await scene.house.start()
        while loop.time() < end and scene.house.kills < kills and not people.done():
            await asyncio.wait([people], timeout=scene.random.uniform(*every))
            await again(scene.house)
        await calm(scene, people)


async def again(house: House) -> None:
    house.strike()
    await house.rise()


async def at_moments(
    scene: Scene, moments: Sequence[tuple[str, str]], *, issues: int, seconds: float, twice: bool = False
) -> list[str]:
    """Killed at each of these once; `twice`: and again while it gets up. Which moments never came."""
    house, struck = scene.house, asyncio.Event()
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds

    def strike() -> bool:
        hit = house.strike()
        if hit:
            loop.call_soon_threadsafe(struck.set)
        return hit

    scene.github.moments = [Moment(kind, when, strike) for kind, when in moments]
    scene.people.ask(issues)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        await house.start()
        while scene.github.moments and not people.done() and loop.time() < end:
            waiting = group.create_task(struck.wait())
            await asyncio.wait([people, waiting], return_when=asyncio.FIRST_COMPLETED, timeout=end - loop.time())
            waiting.cancel()
            struck.clear()
            if house.struck:
                await house.rise()
                if twice:
                    await _while_it_gets_up(scene)
        never = [f"{one.kind}/{one.when}" for one in scene.github.moments]
        await calm(scene, people)
    return never


async def _while_it_gets_up(scene: Scene) -> None:
    """Struck again, whatever it is at: no moment is used up by that."""
    scene.github.resting = True
    await asyncio.sleep(scene.random.uniform(*_GETTING_UP))
    await again(scene.house)
    scene.github.resting = False


def dying_at(commit: int) -> Sequence[str]:
    """Whoever is started within this is killed as it makes what it saved durable, for the so-manieth time."""
    strike = f"inject=fdatasync:signal=SIGKILL:when={commit}"
    return ("strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", strike)


async def at_commits(scene: Scene, *, issues: int, seconds: float, most: int) -> None:
    """Every life ends in the middle of a commit to a database."""
    scene.people.ask(issues)
    house, loop = scene.house, asyncio.get_running_loop()
    end = loop.time() + seconds
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        while loop.time() < end and not people.done():
            house.within = dying_at(scene.random.randint(1, most))
            await house.start()
            falling = group.create_task(house.fall())
            await asyncio.wait([people, falling], return_when=asyncio.FIRST_COMPLETED, timeout=end - loop.time())
            if not falling.done():
                house.strike()
                await falling
            await house.bury()
        house.within = ()
        await house.start()
        await calm(scene, people)


async def side_by_side(scene: Scene, *, issues: int) -> None:
    """Two daemons that know nothing of each other on one repository."""
    scene.people.ask(issues)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(scene.people.until_content())
        for house in scene.houses:
            await house.start()
        await calm(scene, people)


async def calm(scene: Scene, people: asyncio.Task[None], *, within: float = 0.0) -> None:
    """Nothing goes wrong any more: everybody is to be content before long. Who is not is for the checker to say."""
    scene.github.storm.over = True
    scene.github.moments.clear()
    scene.history.note("calm")
    left = sum(stage is not Stage.TIDIED for stage in scene.people.stages.values())
    end = asyncio.get_running_loop().time() + (within or _CALM_SECONDS + _PER_ISSUE * left)
    while not people.done() and asyncio.get_running_loop().time() < end:
        for house in scene.houses:
            await house.rise()  # a request that was under way may have struck it
        await asyncio.wait([people], timeout=1)
    people.cancel()


EVERY_MOMENT = [(kind, when) for kind in (*KINDS, CLAIM) for when in WHENS]
WORTH_FORGETTING = [
    ("comment", "effect"), ("pull request", "answer"), ("reaction", "effect"), ("push", "effect"),
    ("unlabel", "answer"), ("branch", "before"),
]  # fmt: skip
