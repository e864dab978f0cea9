"""A team on the stand-in Linear, and our way to it on a clock that tests move."""

from bot.clients.linear.board import Moves
from bot.clients.linear.facts import Facts
from bot.clients.linear.looking import Rules, Scope
from bot.clients.linear.markers import Markers
from bot.clients.linear.memory import open_memory
from bot.clients.linear.notebook import Notebook
from bot.clients.linear.people import People
from bot.clients.linear.routing import Route
from bot.clients.linear.session import Linear
from bot.clients.linear.team import Team
from bot.manners.standings import Standings
from bot.trackers.linear import LinearTracker

SECRET = b"not much of a secret"
HOME = "https://github.com/acme/shop"
SHOP = Route("shop", "acme/shop")


class LinearBot:
    """Everything of ours about one team, as it is after a start of the process."""

    def __init__(
        self, linear, folder, *, routes=(SHOP,), moves=None, trusted=(), authorization="", pushers=("ana",), team="ENG",
        who="treehand-bot", fence=lambda: None,
    ):  # fmt: skip
        self.linear, self.world = linear, linear.world
        self.db = open_memory(folder / "linear.db")
        authorization = authorization or linear.token_for(who)
        self.service = Linear(linear.url, authorization, self.db, clock=self.now, elapsing=self.now, sleep=self.sleep)
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

    async def close(self):
        await self.service.aclose()
        self.db.close()
