"""What Treehand writes on GitHub: requests of one run and of many comments, and when ninety issues show a first sign.

The adapters and their pacing are the real ones, over HTTP; agents are imaginary. The clock moves only when a request
waits for its turn, so the figures are counts, and seconds of the pacing's own schedule.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.policy import Policy
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Ports, Project
from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_cache
from bot.services.github.client import GitHubClient
from bot.services.github.forge import GitHubForge
from bot.services.github.repository import GitHubRepository, RepositoryRules
from bot.services.github.tracker import GitHubTracker
from bot.store.runs import RunStore
from tests.benchmarks.figures import Figure, middle
from tests.fakes.github import GitHubWorld, served
from tests.fakes.github.as_json import node_id
from tests.fakes.github.server import Call, ServedGitHub
from tests.fakes.ports import FakeExecutor, FakeWorkspaces
from tests.fakes.world import World
from tests.services.github.scripted_server import FakeClock

ISSUES, CAP = 90, 4
COMMENTS = 40
TURN_SECONDS = 20.0
NAME, BOT = "acme/shop", "treehand-bot"


@dataclass(frozen=True, slots=True)
class Heard:
    """What 40 comments on a working agent cost."""

    before: int
    """Writes before the agent heard the first."""
    reactions: int
    """Requests that react to them."""


class Scene:
    def __init__(self, github: ServedGitHub, clock: FakeClock, store: RunStore, repository: GitHubRepository) -> None:
        self.github, self.clock, self.inside = github, clock, World()
        self.heard_after: list[int] = []
        """Number of writes before each message to an agent."""
        policy = Policy(max_working=CAP, max_working_per_project=CAP, base="main", review_quiet_seconds=0)
        tracker, forge = GitHubTracker(repository), GitHubForge(repository, api_url=github.url)
        workspaces = FakeWorkspaces(self.inside)
        project = Project("shop", tracker, forge, workspaces, policy, hand_over=self.inside.by_hand)
        self._moved = asyncio.Event()
        self.engine = Engine(
            Ports({"shop": project}, _Listening(self), store),
            clock=clock, capacity=lambda: Capacity(CAP), on_change=self._moved.set,
        )  # fmt: skip

    @property
    def writes(self) -> Sequence[Call]:
        return [call for call in self.github.history if call.writes]

    async def settle(self, *, most: int = 200) -> None:
        """Ticks as the daemon does: whenever something changed, until nothing is left to do."""
        for _ in range(most):
            await self.tick()
            if not (self.engine._busy or self._moved.is_set()):
                return
        raise AssertionError("it does not settle")

    async def tick(self) -> None:
        self._moved.clear()
        self.engine.expect_news()
        await self.engine.tick()
        changed, idle = asyncio.ensure_future(self._moved.wait()), asyncio.ensure_future(self.engine.wait_until_idle())
        await asyncio.wait([changed, idle], return_when=asyncio.FIRST_COMPLETED)
        for one in (changed, idle):
            one.cancel()

    def finish(self, turn: str) -> None:
        branch = self.inside.requests[turn].branch
        self.github.world.push(NAME, branch, {f"{branch.rpartition('/')[2]}.py": "1\n"}, by=BOT)
        self.inside.finish_turn(turn)


class _Listening(FakeExecutor):
    def __init__(self, scene: Scene) -> None:
        super().__init__(scene.inside)
        self._scene = scene

    async def send(self, turn_id: str, message: Any) -> None:
        self._scene.heard_after.append(len(self._scene.writes))
        await super().send(turn_id, message)


@asynccontextmanager
async def scene_in(folder: Path, *, issues: int) -> AsyncIterator[Scene]:
    folder.mkdir(exist_ok=True)
    clock = FakeClock(float(int(time.time())))
    world = _StandingWorld(folder / "github", clock)
    world.add_repository(NAME, ana="write", **{BOT: "write"})
    for number in range(issues):
        world.open_issue(NAME, f"Fix {number}", "Please.", by="ana", labels=["ai"])
    for phase in ("queued", "working", "review", "asking"):
        world.make_label(NAME, f"ai:{phase}")
    with served(world, validate=False, github=_Timed(world, clock)) as github:
        memory, store = open_cache(folder / "github.db"), RunStore.open(folder / "treehand.db")
        credential = TokenCredential(github.token_for(BOT))
        async with GitHubClient(github.url, credential, memory, clock=clock, sleep=clock.sleep) as service:
            repository = GitHubRepository(service, NAME, memory, rules=RepositoryRules("ai"), secret=b"of this bench")
            scene = Scene(github, clock, store, repository)
            async with scene.engine:
                yield scene
        memory.close()
        store.close()


class _StandingWorld(GitHubWorld):
    """Its time is that of the clock."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        self._clock = clock
        super().__init__(folder)

    @property
    def now(self) -> float:
        return self._clock.now


class _Timed(ServedGitHub):
    """Knows the time by the clock that moves only when somebody waits."""

    def __init__(self, world: GitHubWorld, clock: FakeClock) -> None:
        super().__init__(world, validate=False)
        self._clock = clock
        self.times: list[float] = []

    def _note(self, *given: Any, **named: Any) -> None:
        super()._note(*given, **named)
        self.times.append(self._clock.now)


async def plain_story(folder: Path) -> Sequence[Call]:
    """Returns the writes of one run: labelled, worked on, offered, merged, tidied away."""
    async with scene_in(folder, issues=1) as scene:
        await scene.settle()
        (turn,) = scene.inside.running()
        branch = scene.inside.requests[turn].branch
        scene.finish(turn)
        await scene.settle()
        (pull,) = [one.number for one in scene.github.world.repository(NAME).issues.values() if one.pull]
        assert scene.github.world.tip(NAME, branch)
        scene.github.world.merge(NAME, pull, by="ana")
        await scene.settle()
        assert not scene.github.world.issue(NAME, 1).labels
        return scene.writes


async def many_comments(folder: Path) -> Heard:
    async with scene_in(folder, issues=1) as scene:
        await scene.settle()
        before = len(scene.writes)
        for number in range(COMMENTS):
            scene.github.world.comment(NAME, 1, f"And this: {number}", by="ana")
        await scene.settle()
        assert len(scene.heard_after) == COMMENTS
        since = scene.writes[before:]
        reactions = [call for call in since if call.path.endswith("/reactions") or "addReaction" in call.mutations]
        comments = scene.github.world.repository(NAME).comments.values()
        assert sum(bool(one.reactions) for one in comments) == COMMENTS
        return Heard(scene.heard_after[0] - before, len(reactions))


async def first_signs(folder: Path) -> Sequence[float]:
    """Returns the second of the first label or comment of each issue, in their order."""
    async with scene_in(folder, issues=ISSUES) as scene:
        began, started = scene.clock.now, dict[str, float]()
        for _ in range(1000):
            await scene.tick()
            signs = _signs(scene)
            if len(signs) == ISSUES:
                return sorted(at - began for at in signs.values())
            for turn in scene.inside.running():
                if scene.clock.now - started.setdefault(turn, scene.clock.now) >= TURN_SECONDS:
                    scene.finish(turn)
            if not scene.engine._busy:
                scene.clock.now += 1
        raise AssertionError(f"only {len(signs)} of {ISSUES} issues show a sign")


def _signs(scene: Scene) -> dict[int, float]:
    github = scene.github
    assert isinstance(github, _Timed)
    nodes = {node_id("I", one.id): number for number, one in github.world.repository(NAME).issues.items()}
    found: dict[int, float] = {}
    for call, at in zip(list(github.history), github.times, strict=False):
        if call.writes and call.status < 400:
            for number in _issues_of(call, nodes):
                found.setdefault(number, at)
    return {number: at for number, at in found.items() if number <= ISSUES}


def _issues_of(call: Call, nodes: dict[str, int]) -> list[int]:
    if call.mutations:
        given = call.body["variables"].values()
        return [nodes[one["labelableId"]] for one in given if one.get("labelableId") in nodes]
    part = call.path.split("/issues/")[-1].split("/")[0]
    return [int(part)] if "/issues/" in call.path and part.isdigit() else []


async def measure(folder: Path) -> list[Figure]:
    story = await plain_story(folder / "story")
    heard = await many_comments(folder / "comments")
    signs = await first_signs(folder / "signs")
    return [
        Figure("writes of a plain run on GitHub, from label to tidy", len(story), "", 8),
        Figure(f"{COMMENTS} comments at once: writes before the agent hears one", heard.before, "", 0),
        Figure("  requests that react to them", heard.reactions, "", 2),
        Figure(f"{ISSUES} issues labelled at once: first sign in the middle", middle(signs), "s", 60),
        Figure("  the last first sign", signs[-1], "s", 120),
    ]
