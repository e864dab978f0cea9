"""A bot on one repository of the stand-in GitHub, with a clock that tests move."""

from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_cache
from bot.services.github.client import GitHubClient
from bot.services.github.forge import GitHubForge
from bot.services.github.repository import GitHubRepository, RepositoryRules
from bot.services.github.tracker import GitHubTracker

SECRET = b"not much of a secret"
REPO = "acme/shop"
BRANCH = "treehand/acme-shop-1"


class Bot:
    """Tracker, forge and client of one repository, as after a start of the process."""

    def __init__(self, github, folder, *, credential=None, token="", name=REPO, trusted=()):
        self.github, self.world = github, github.world
        self.db = open_cache(folder / "github.db")
        credential = credential or TokenCredential(token or github.token_for("treehand-bot"))
        self.client = GitHubClient(github.url, credential, self.db, clock=self.now, sleep=self.sleep)
        rules = RepositoryRules("ai", trusted)
        self.repository = GitHubRepository(self.client, name, self.db, rules=rules, secret=SECRET)
        self.tracker = GitHubTracker(self.repository)
        self.forge = GitHubForge(self.repository, api_url=github.url)

    def now(self):
        return self.world.now

    async def sleep(self, seconds):
        self.world.advance(seconds)

    async def issue(self, number, *active):
        keys = [f"{REPO}#{one}" for one in active]
        return (await self.tracker.snapshot(keys)).issues.get(f"{REPO}#{number}")

    async def said(self, number):
        key = f"{REPO}#{number}"
        return (await self.tracker.snapshot([key])).comments.get(key)

    async def pull(self, branch=BRANCH):
        view = await self.forge.snapshot([branch])
        return view.pulls.get(branch), view.comments.get(branch, ())

    async def offer(self, branch=BRANCH, **files):
        self.world.push(REPO, branch, files or {"new.py": "one\ntwo\nthree\nfour\n"}, by="treehand-bot")
        await self.forge.ensure_draft(branch, base="main", title="Add a cart", body="Closes #1")
        return (await self.pull(branch))[0].number

    def requests(self):
        """Returns the requests since the last call."""
        seen = [(call.method, call.path) for call in self.github.history]
        self.github.history.clear()
        return seen

    def close(self):
        self.client._http.close()
        self.db.close()
