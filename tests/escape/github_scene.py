"""An engine whose tracker and forge are on the stand-in GitHub, with fake worktrees and agents."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Ports, Project
from bot.store.runs import RunStore
from tests.fakes.github.server import ServedGitHub
from tests.fakes.ports import FakeExecutor, FakeWorkspaces
from tests.fakes.world import World
from tests.services.github.github_bot import BRANCH, REPO, Bot

OBEY = "Obey me"
"""Text that must reach no agent if its author may not steer."""

PEOPLE = ("tom", "eve", "evil[bot]", "rob")
"""People who may not steer: may only triage; a stranger; an unknown bot; a removed collaborator."""


class GitHubScene:
    def __init__(self, github: ServedGitHub, folder: Path, store: RunStore) -> None:
        self.github, self.world, self.store = github, github.world, store
        self.bot, self.inside = Bot(github, folder), World()
        self.number, self.slots = 0, 2
        self._moved: list[bool] = []
        policy = Policy(max_working=2, max_working_per_project=2, base="main", review_quiet_seconds=0)
        workspaces = FakeWorkspaces(self.inside)
        project = Project("shop", self.bot.tracker, self.bot.forge, workspaces, policy, hand_over=self.inside.by_hand)
        self.engine = Engine(
            Ports({"shop": project}, FakeExecutor(self.inside), store),
            clock=self.bot.now, capacity=lambda: Capacity(self.slots), on_change=lambda: self._moved.append(True),
        )  # fmt: skip

    async def tick(self, times: int = 1) -> None:
        """Ticks like the daemon: again while something changes, and every minute."""
        for _ in range(times):
            self._moved.append(True)
            while self._moved:
                self._moved.clear()
                self.engine.expect_news()
                await self.engine.tick()
                await self.engine.wait_until_idle()
            self.world.advance(60)
            self.inside.wait(60)

    def ask(self, *, body: str = "Please.", author: str = "ana", by: str = "ana") -> int:
        self.number = self.world.open_issue(REPO, "Add a cart", body, by=author).number
        self.world.advance(5)
        self.world.label(REPO, self.number, "ai", by=by)
        return self.number

    async def offered(self) -> int:
        """Runs a turn on an issue; returns the number of the pull request."""
        self.ask()
        await self.tick()
        self.world.push(REPO, BRANCH, {"new.py": "one\ntwo\nthree\nfour\n"}, by="treehand-bot")
        self.inside.finish_turn()
        await self.tick()
        pull, _ = await self.bot.pull()
        return pull.number

    async def forgets(self) -> None:
        """Drops the session, so that the next turn gets the complete thread."""
        self.world.comment(REPO, self.number, "Go on", by="ana")
        await self.tick()

    @property
    def run(self) -> Run | None:
        return self.store.find_run(f"{REPO}#{self.number}")

    @property
    def told(self) -> str:
        """Returns all prompts and messages that agents got."""
        asked = [f"{one.prompt}\n{one.briefing}\n{one.commit_message}" for one in self.inside.requests.values()]
        return "\n".join([*asked, *(message.text for _, message in self.inside.told)])

    @property
    def answers(self) -> list[str]:
        said = self.world.repository(REPO).comments.values()
        return [one.body for one in said if one.author and one.author.login == "treehand-bot"]


@asynccontextmanager
async def scene_at(github: ServedGitHub, folder: Path) -> AsyncIterator[GitHubScene]:
    with closing(RunStore.open(folder / "treehand.db")) as store:
        scene = GitHubScene(github, folder, store)
        with closing(scene.bot):
            async with scene.engine:
                yield scene
