"""Idle worktrees free disk space: build output first, then the worktree, which is restored later."""

import os

import pytest

from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
SALVAGE = "refs/treehand/salvage/shop-1/1"


@pytest.fixture
def workspaces(root):
    return GitWorkspaces(root, "shop", idle_seconds=0)


@pytest.fixture
async def workspace(workspaces, origin):
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


async def test_build_output_is_deleted_and_work_stays(workspaces, workspace, root):
    build = workspace.path / "src" / "build"
    build.mkdir()
    (build / "out.o").write_text("x")
    (workspace.path / "note.log").write_text("a file that git ignores may be somebody's")
    (workspace.path / "half.py").write_text("unfinished\n")

    assert await workspaces.drop_ignored(BRANCH)
    assert not await workspaces.drop_ignored(BRANCH)

    assert not build.exists()
    assert (workspace.path / "note.log").exists()
    assert run_git(workspace.path, "status", "--porcelain") == "?? half.py"
    assert list((root / "trash" / "shop").iterdir()) == []


async def test_tracked_files_in_an_ignored_folder_keep_that_folder(workspaces, origin):
    origin.commit({"build/kept.txt": "tracked\n"})
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "build" / "new.o").write_text("x")
    assert not await workspaces.drop_ignored(BRANCH)
    assert (workspace.path / "build" / "kept.txt").exists()


async def test_a_link_with_the_name_of_build_output_is_not_followed(workspaces, workspace, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    (workspace.path / "build").symlink_to(tmp_path / "precious")
    await workspaces.drop_ignored(BRANCH)
    assert (tmp_path / "precious" / "file").exists()


async def test_an_evicted_worktree_is_restored_unchanged(workspaces, workspace, origin, mirror):
    (workspace.path / "half.py").write_text("unfinished\n")
    (workspace.path / "src" / "app.py").unlink()
    program = workspace.path / "run.sh"
    program.write_text("true\n")
    program.chmod(0o755)

    assert await workspaces.evict(BRANCH)
    assert not workspace.path.exists()
    assert not await workspaces.evict(BRANCH)
    assert run_git(mirror, "show", f"{SALVAGE}:half.py") == "unfinished"

    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert again.head == workspace.head
    assert (again.path / "half.py").read_text() == "unfinished\n"
    assert os.access(again.path / "run.sh", os.X_OK)
    assert not (again.path / "src" / "app.py").exists()
    assert run_git(mirror, "for-each-ref", "refs/treehand/parked") == ""
    change = await workspaces.capture(BRANCH, message="New", at=1000)
    assert sorted(file.path for file in change.files) == ["half.py", "run.sh", "src/app.py"]


async def test_evicting_committed_work_creates_no_salvage(workspaces, workspace, origin, mirror):
    (workspace.path / "new.py").write_text("x\n")
    change = await workspaces.capture(BRANCH, message="New", at=1000)
    assert await workspaces.evict(BRANCH)
    assert run_git(mirror, "for-each-ref", "refs/treehand/salvage", "refs/treehand/parked") == ""
    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert again.head == change.head
    assert (again.path / "new.py").exists()


async def test_commits_pushed_during_an_eviction_are_merged_with_the_evicted_work(workspaces, workspace, origin):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    (workspace.path / "half.py").write_text("unfinished\n")
    await workspaces.evict(BRANCH)
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)

    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert (again.path / "half.py").exists()
    change = await workspaces.capture(BRANCH, message="New", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert theirs in run_git(origin.bare, "rev-list", BRANCH).split()
    assert change.head in run_git(origin.bare, "rev-list", BRANCH).split()


async def test_a_takeover_restores_an_evicted_worktree(workspaces, workspace):
    (workspace.path / "half.py").write_text("unfinished\n")
    await workspaces.evict(BRANCH)
    await workspaces.disarm(BRANCH)
    assert (workspace.path / "half.py").read_text() == "unfinished\n"
    assert run_git(workspace.path, "status", "--porcelain") == "A  half.py"


async def test_salvage_at_the_end_of_a_run_includes_evicted_work(workspaces, workspace, mirror, root):
    (workspace.path / "half.py").write_text("unfinished\n")
    await workspaces.evict(BRANCH)
    assert await workspaces.salvage(BRANCH) == SALVAGE
    await workspaces.remove(BRANCH)
    assert run_git(mirror, "for-each-ref", "--format=%(refname)", "refs/treehand", "refs/heads") == SALVAGE


async def test_a_worktree_with_an_unresolved_merge_is_not_evicted(workspaces, workspace, origin):
    (workspace.path / "README.md").write_text("ours\n")
    await workspaces.capture(BRANCH, message="Work", at=1000)
    origin.commit({"README.md": "theirs\n"})
    merging = await workspaces.ensure(BRANCH, base="", remote=origin.remote, merge="main")
    assert merging.conflicts
    assert not await workspaces.evict(BRANCH)
    assert merging.path.exists()


async def test_a_recently_used_worktree_is_left_alone(root, origin):
    workspaces = GitWorkspaces(root, "shop")
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "build").mkdir()
    assert not await workspaces.drop_ignored(BRANCH)
    assert not await workspaces.evict(BRANCH)
    assert (workspace.path / "build").exists()
