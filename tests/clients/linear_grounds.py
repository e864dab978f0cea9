"""A team on the stand-in Linear, and our way to it on a clock that tests move."""

from collections.abc import AsyncIterator

import pytest

from bot.services.http.availability import Standings
from bot.services.linear.cache import Notebook
from bot.services.linear.client import Linear
from bot.services.linear.comment_markers import Markers
from bot.services.linear.memory import open_memory
from bot.services.linear.permissions import People
from bot.services.linear.project_issues import Rules, Scope
from bot.services.linear.routing import Route
from bot.services.linear.team_info import Facts
from bot.services.linear.team_sync import Team
from bot.services.linear.tracker import LinearTracker
from bot.services.linear.workflow_states import Moves

SECRET = b"not much of a secret"
HOME = "https://github.com/acme/shop"
SHOP = Route("shop", "acme/shop")


def labelled(world, *labels, by="ana", **more):
    """The key of an issue somebody asks for."""
    return world.open_issue("ENG", "Add a cart", "Please.", by=by, labels=["ai", *labels], **more).identifier


class LinearBot:
    """Everything of ours about one team, as it is after a start of the process."""

    def __init__(
        self, linear, folder, *, routes=(SHOP,), moves=None, trusted=(), authorization="", pushers=("ana",), team="ENG",
        who="treehand-bot", fence=lambda: None,
    ):  # fmt: skip
        self.linear, self.world, self.folder = linear, linear.world, folder
        self.how = {"routes": routes, "moves": moves, "trusted": trusted, "team": team, "who": who}
        self.skew = 0.0
        """How far our own clock is ahead of Linear's."""
        self.others = []
        self.db = open_memory(folder / "linear.db")
        self.token = authorization = authorization or linear.token_for(who)
        self.service = Linear(
            linear.url, authorization, self.db, clock=self.now, elapsing=self.elapsing, sleep=self.sleep
        )
        notebook = Notebook(self.db)
        facts = Facts(self.service, team, notebook, Standings(self.db, "Linear"))
        self.team = Team(self.service, team, notebook, facts, label="ai")

        async def may_push(one, email):
            return email.partition("@")[0] in pushers

        self.trackers = {
            route.project: LinearTracker(
                Scope(
                    self.team, Rules("ai", route, tuple(routes), moves or Moves()), People(trusted, may_push),
                    Markers(SECRET, HOME), fence,
                )
            )
            for route in routes
        }  # fmt: skip
        self.tracker = next(iter(self.trackers.values()))

    def now(self):
        return self.world.now + self.skew

    def elapsing(self):
        return self.world.now

    async def sleep(self, seconds):
        self.world.advance(seconds)

    async def issue(self, key, *active):
        return (await self.tracker.look(list(active))).issues.get(key)

    async def said(self, key):
        return (await self.tracker.look([key])).comments.get(key, ())

    def asked(self):
        """Names of what was asked since the last time."""
        seen = [call.operation for call in self.linear.history]
        self.linear.history.clear()
        return seen

    def life(self, folder="", **how):
        """Another one of ours: with the same memory, or with one of its own."""
        self.others.append(LinearBot(self.linear, self.folder / folder, **{**self.how, **how}))
        return self.others[-1]

    def points(self):
        """What was asked since the last time cost so many points."""
        points = sum(call.complexity for call in self.linear.history)
        return points, self.asked()

    async def close(self):
        for other in self.others:
            await other.close()
        await self.service.aclose()
        self.db.close()


@pytest.fixture
async def bot(linear, tmp_path) -> AsyncIterator[LinearBot]:
    bot = LinearBot(linear, tmp_path)
    yield bot
    await bot.close()
