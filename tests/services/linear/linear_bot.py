"""A bot on one team of the stand-in Linear, with a clock that tests move."""

from collections.abc import AsyncIterator

import pytest

from bot.services.http.availability import Availability
from bot.services.linear.cache import Cache, open_cache
from bot.services.linear.client import LinearClient
from bot.services.linear.comment_markers import Markers
from bot.services.linear.permissions import Permissions
from bot.services.linear.project_issues import IssueRules, ProjectIssues
from bot.services.linear.team_info import TeamInfo
from bot.services.linear.team_routing import TeamRoute
from bot.services.linear.team_sync import TeamSync
from bot.services.linear.tracker import LinearTracker
from bot.services.linear.workflow_states import WantedMoves

SECRET = b"not much of a secret"
HOME = "https://github.com/acme/shop"
SHOP = TeamRoute("shop", "acme/shop")


def labelled(world, *labels, by="ana", **more):
    """Returns the key of a new issue with the label."""
    return world.open_issue("ENG", "Add a cart", "Please.", by=by, labels=["ai", *labels], **more).identifier


class LinearBot:
    """Trackers and client of one team, as after a start of the process."""

    def __init__(
        self, linear, folder, *, routes=(SHOP,), moves=None, trusted=(), authorization="", pushers=("ana",), team="ENG",
        who="treehand-bot", fence=lambda: None,
    ):  # fmt: skip
        self.linear, self.world, self.folder = linear, linear.world, folder
        self.how = {"routes": routes, "moves": moves, "trusted": trusted, "team": team, "who": who}
        self.skew = 0.0
        """Seconds that our clock is ahead of Linear's."""
        self.others = []
        self.db = open_cache(folder / "linear.db")
        self.token = authorization = authorization or linear.token_for(who)
        self.client = LinearClient(
            linear.url, authorization, self.db, clock=self.now, elapsing=self.elapsing, sleep=self.sleep
        )
        cache = Cache(self.db)
        info = TeamInfo(self.client, team, cache, Availability(self.db, "Linear"))
        self.team = TeamSync(self.client, team, cache, info, label="ai")

        async def may_push(one, email):
            return email.partition("@")[0] in pushers

        self.trackers = {
            route.project: LinearTracker(
                ProjectIssues(
                    self.team, IssueRules("ai", route, tuple(routes), moves or WantedMoves()),
                    Permissions(trusted, may_push),
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
        return (await self.tracker.snapshot(list(active))).issues.get(key)

    async def said(self, key):
        return (await self.tracker.snapshot([key])).comments.get(key, ())

    def asked(self):
        """Returns the names of the operations since the last call."""
        seen = [call.operation for call in self.linear.history]
        self.linear.history.clear()
        return seen

    def life(self, folder="", **how):
        """Starts another process of the bot, with the same cache or its own."""
        self.others.append(LinearBot(self.linear, self.folder / folder, **{**self.how, **how}))
        return self.others[-1]

    def points(self):
        """Returns the complexity and the names of the operations since the last call."""
        points = sum(call.complexity for call in self.linear.history)
        return points, self.asked()

    async def close(self):
        for other in self.others:
            await other.close()
        await self.client.aclose()
        self.db.close()


@pytest.fixture
async def bot(linear, tmp_path) -> AsyncIterator[LinearBot]:
    bot = LinearBot(linear, tmp_path)
    yield bot
    await bot.close()
