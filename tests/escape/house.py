"""A whole engine whose tracker and forge are on the stand-in GitHub; worktrees and agents are imaginary."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from bot.domain.policy import Policy
from bot.domain.run import Run
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Outside, Project
from bot.store.runs import RunStore
from tests.clients.grounds import BRANCH, REPO, Bot
from tests.fakes.github.server import ServedGitHub
from tests.fakes.ports import FakeExecutor, FakeWorkspaces
from tests.fakes.world import World

OBEY = "Obey me"
"""What nobody who may not steer gets an agent to read."""

PEOPLE = ("tom", "eve", "evil[bot]", "rob")
"""May only triage; a stranger; a bot of nobody's; was removed from the collaborators."""


class House:
    def __init__(self, github: ServedGitHub, folder: Path, store: RunStore) -> None:
        self.github, self.world, self.store = github, github.world, store
        self.bot, self.inside = Bot(github, folder), World()
        self.number = 0
        self._moved: list[bool] = []
        policy = Policy(working=2, working_per_project=2, base="main", quiet_seconds=0)
        workspaces = FakeWorkspaces(self.inside)
        project = Project("shop", self.bot.tracker, self.bot.forge, workspaces, policy, by_hand=self.inside.by_hand)
        self.engine = Engine(
            Outside({"shop": project}, FakeExecutor(self.inside), store),
            clock=self.bot.now, capacity=lambda: Capacity(2), on_change=lambda: self._moved.append(True),
        )  # fmt: skip

    async def tick(self, times: int = 1) -> None:
        """As the daemon does: look again for as long as something moved, and every minute."""
        for _ in range(times):
            self._moved.append(True)
            while self._moved:
                self._moved.clear()
                self.engine.expect_news()
                await self.engine.tick()
                await self.engine.settled()
            self.world.advance(60)
            self.inside.wait(60)

    def ask(self, *, body: str = "Please.", author: str = "ana", by: str = "ana") -> int:
        self.number = self.world.open_issue(REPO, "Add a cart", body, by=author).number
        self.world.advance(5)
        self.world.label(REPO, self.number, "ai", by=by)
        return self.number

    async def offered(self) -> int:
        """An agent has worked on it; the number of our pull request."""
        self.ask()
        await self.tick()
        self.world.push(REPO, BRANCH, {"new.py": "one\ntwo\nthree\nfour\n"}, by="treehand-bot")
        self.inside.finish_turn()
        await self.tick()
        pull, _ = await self.bot.pull()
        return pull.number

    async def forgets(self) -> None:
        """The next turn is for an agent that knows nothing: it is briefed with the whole thread."""
        self.world.comment(REPO, self.number, "Go on", by="ana")
        await self.tick()

    @property
    def run(self) -> Run | None:
        return self.store.find_run(f"{REPO}#{self.number}")

    @property
    def told(self) -> str:
        """Everything that any agent has been told."""
        asked = [f"{one.prompt}\n{one.briefing}\n{one.commit_message}" for one in self.inside.requests.values()]
        return "\n".join([*asked, *(message.text for _, message in self.inside.told)])

    @property
    def answers(self) -> list[str]:
        said = self.world.repository(REPO).comments.values()
        return [one.body for one in said if one.author.login == "treehand-bot"]


@asynccontextmanager
async def house_at(github: ServedGitHub, folder: Path) -> AsyncIterator[House]:
    with closing(RunStore.open(folder / "treehand.db")) as store:
        house = House(github, folder, store)
        with closing(house.bot):
            async with house.engine:
                yield house
