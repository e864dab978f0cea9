"""A local server with one project, over a user's repository."""

from pathlib import Path

import pytest

from bot.services.local.server import LocalServer, LocalSite
from tests.services.local.user_repository import BRANCH, commit, make_repository, offer


class Shop:
    """A project with an issue, and a user's repository with other work checked out."""

    def __init__(self, folder: Path, repository: Path | None = None, base: str = ""):
        self.folder = folder
        self.now = 1_700_000_000.0
        self.theirs = repository or make_repository(folder / "shop")
        self.sites = {"shop": LocalSite(self.theirs, base)}
        self.server = self.another_desk()
        self.issues = self.server.issues("shop")
        self.issue = self.issues.open("Add a cart", by="ana").key

    def another_desk(self) -> LocalServer:
        return LocalServer(self.folder / "state", self.sites, lambda: self.now)

    @property
    def pulls(self):
        return self.server.pull_requests("shop")

    @property
    def repository(self):
        return self.server.repository("shop")

    def offer(self, files=None, *, branch=BRANCH, body="Closes shop#1", base="main", message="treehand's work") -> int:
        """Opens a pull request with the bot's work. Returns its number."""
        self.repository.fetch()
        files = files or {"cart.py": "total = 0\n"}
        head = offer(self.repository.bare, branch, files, scratch=self.folder / "scratch", base=base, message=message)
        return self.pulls.ensure_draft(branch, base=base, title="Add a cart", body=body, head=head)

    def merge(self, number: int, **how):
        return self.server.merger("shop").merge(number, by="Ana Lee", **how)

    def commit(self, files, message="work") -> str:
        return commit(self.theirs, files, message)


@pytest.fixture
def shop(tmp_path):
    shop = Shop(tmp_path)
    yield shop
    shop.server.close()
