"""A desk with one project, over a person's own repository."""

from pathlib import Path

import pytest

from bot.services.local.server import Desk, Site
from tests.embedded.grounds import BRANCH, commit, make_repository, offer


class Shop:
    """One project with an issue, and a person's repository that is busy with something else."""

    def __init__(self, folder: Path, repository: Path | None = None, base: str = ""):
        self.folder = folder
        self.now = 1_700_000_000.0
        self.theirs = repository or make_repository(folder / "shop")
        self.sites = {"shop": Site(self.theirs, base)}
        self.desk = self.another_desk()
        self.issues = self.desk.issues("shop")
        self.issue = self.issues.open("Add a cart", by="ana").key

    def another_desk(self) -> Desk:
        return Desk(self.folder / "state", self.sites, lambda: self.now)

    @property
    def pulls(self):
        return self.desk.pulls("shop")

    @property
    def repository(self):
        return self.desk.repository("shop")

    def offer(self, files=None, *, branch=BRANCH, body="Closes shop#1", base="main") -> int:
        """The bot's work on a branch, and its pull request's number."""
        self.repository.refresh()
        files = files or {"cart.py": "total = 0\n"}
        head = offer(self.repository.bare, branch, files, scratch=self.folder / "scratch", base=base)
        return self.pulls.ensure_draft(branch, base=base, title="Add a cart", body=body, head=head)

    def merge(self, number: int, **how):
        return self.desk.merging("shop").merge(number, by="Ana Lee", **how)

    def commit(self, files, message="work") -> str:
        return commit(self.theirs, files, message)


@pytest.fixture
def shop(tmp_path):
    shop = Shop(tmp_path)
    yield shop
    shop.desk.close()
