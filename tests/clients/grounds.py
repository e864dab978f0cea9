"""A repository on the stand-in GitHub, and our way to it on a clock that tests move."""

from bot.services.github.auth import TokenCredential
from bot.services.github.client import GitHub
from bot.services.github.forge import GitHubForge
from bot.services.github.http_cache import open_memory
from bot.services.github.repository import Repository, Rules
from bot.services.github.tracker import GitHubTracker

SECRET = b"not much of a secret"
REPO = "acme/shop"
BRANCH = "treehand/acme-shop-1"


class Bot:
    """Everything of ours about one repository, as it is after a start of the process."""

    def __init__(self, github, folder, *, credential=None, token="", name=REPO, trusted=()):
        self.github, self.world = github, github.world
        self.db = open_memory(folder / "github.db")
        credential = credential or TokenCredential(token or github.token_for("treehand-bot"))
        self.service = GitHub(github.url, credential, self.db, clock=self.now, sleep=self.sleep)
        rules = Rules("ai", trusted)
        self.repository = Repository(self.service, name, self.db, rules=rules, secret=SECRET)
        self.tracker = GitHubTracker(self.repository)
        self.forge = GitHubForge(self.repository, api_url=github.url)

    def now(self):
        return self.world.now

    async def sleep(self, seconds):
        self.world.advance(seconds)

    async def issue(self, number, *active):
        keys = [f"{REPO}#{one}" for one in active]
        return (await self.tracker.look(keys)).issues.get(f"{REPO}#{number}")

    async def said(self, number):
        key = f"{REPO}#{number}"
        return (await self.tracker.look([key])).comments.get(key)

    async def pull(self, branch=BRANCH):
        view = await self.forge.look([branch])
        return view.pulls.get(branch), view.comments.get(branch, ())

    async def offer(self, branch=BRANCH, **files):
        self.world.push(REPO, branch, files or {"new.py": "one\ntwo\nthree\nfour\n"}, by="treehand-bot")
        await self.forge.ensure_draft(branch, base="main", title="Add a cart", body="Closes #1")
        return (await self.pull(branch))[0].number

    def requests(self):
        """Those since the last time this was asked."""
        seen = [(call.method, call.path) for call in self.github.history]
        self.github.history.clear()
        return seen

    def close(self):
        self.service._exchange.close()
        self.db.close()
