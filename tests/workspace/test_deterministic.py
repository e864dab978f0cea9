"""The same work at the same date gives the same commit id on any machine, so a push can be repeated."""

import pytest

from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
COMMIT = "b92df1bb50220d3528601b76276a85d6d3605e7c"
MERGE = "296711c8e7c81bc644447b18e2f81138ed38a74c"


@pytest.fixture
def elsewhere(monkeypatch):
    """Simulates another machine: other time zone, user and git settings."""

    def move() -> None:
        monkeypatch.setenv("TZ", "Pacific/Kiritimati")
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_NAME", "Somebody")
            monkeypatch.setenv(f"GIT_{who}_EMAIL", "somebody@example.org")
            monkeypatch.setenv(f"GIT_{who}_DATE", "@1 +0000")

    return move


async def _replayed(root, origin) -> tuple[str, str]:
    workspaces = GitWorkspaces(root, "shop")
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "new.py").write_text("x\n")
    commit = (await workspaces.capture(BRANCH, message="New", at=1234567890.9)).head
    return commit, (await workspaces.ensure(BRANCH, base="", remote=origin.remote, merge="side")).head


async def test_the_same_work_elsewhere_gives_the_same_commit_and_merge(tmp_path, origin, elsewhere):
    """The expected ids are constants, so that they stay the same in later versions."""
    origin.commit({"side.py": "y\n"}, branch="side")
    first = await _replayed(tmp_path / "one", origin)
    elsewhere()
    assert await _replayed(tmp_path / "two", origin) == first
    assert first == (COMMIT, MERGE)
    facts = run_git(tmp_path / "one" / "mirrors" / "shop.git", "show", "-s", "--format=%an %ae %at %cn %ce %ct", COMMIT)
    assert facts == "Treehand treehand@localhost 1234567890 Treehand treehand@localhost 1234567890"
