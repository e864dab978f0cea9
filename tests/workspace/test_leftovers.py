"""F11: stale files of killed processes are removed once, by the daemon that owns the folder."""

import asyncio
from pathlib import Path

import pytest

from bot.errors import CannotStart
from bot.system.locks import daemon_lock
from bot.workspace.mirror import Mirror
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
DEAD = 2**22 + 1
"""No process has such a number."""
LEFT = (
    "index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "gc.pid.lock",
    "refs/heads/treehand/shop-1.lock", "refs/treehand/base/treehand/shop-1.lock", "refs/remotes/origin/main.lock",
    "worktrees/shop-1/index.lock", "worktrees/shop-1/HEAD.lock", "objects/info/commit-graph.lock",
    "objects/pack/tmp_pack_AbCdEf", "objects/pack/tmp_idx_AbCdEf", "objects/pack/.tmp-4194305-pack-ab.pack",
)  # fmt: skip


def leave(mirror: Path) -> list[Path]:
    left = [mirror / name for name in LEFT]
    for one in left:
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text("half")
    return left


@pytest.fixture
async def workspace(workspaces, origin):
    made = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (made.path / "new.py").write_text("x\n")
    return made


async def test_f11_stale_files_of_a_killed_process_are_removed(workspace, root, origin, mirror):
    left = leave(mirror)
    run_git(mirror, "repack", "-a", "-d", "-q")  # a pack that is whole stays
    packs = list((mirror / "objects" / "pack").glob("pack-*"))
    workspaces = GitWorkspaces(root, "shop")
    origin.commit({"README.md": "newer\n"})

    await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    change = await workspaces.capture(BRANCH, message="New", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)

    assert [one for one in left if one.exists()] == []
    assert set(packs) <= set((mirror / "objects" / "pack").iterdir())
    assert origin.tip(BRANCH) == change.head


async def test_f11_a_worktree_locked_by_a_killed_process_is_made_again_and_removed(workspace, root, origin, mirror):
    admin = mirror / "worktrees" / "shop-1"
    (admin / "locked").write_text(f"an agent (pid {DEAD})")
    (admin / "treehand").unlink()
    workspaces = GitWorkspaces(root, "shop")

    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert (again.path / "README.md").exists()
    (admin / "locked").write_text(f"an agent (pid {DEAD})")
    await workspaces.remove(BRANCH)
    assert not admin.exists()


async def test_f11_files_of_a_running_daemon_are_not_removed(workspace, root, mirror):
    """`clean` and a second daemon get no further; `restore` and `clean --dry-run` read without removing files."""
    with daemon_lock(root):
        left = leave(mirror)
        with pytest.raises(CannotStart, match="already running"), daemon_lock(root):
            raise AssertionError
        other = GitWorkspaces(root, "shop")
        await other.list_removable([])
        await other.salvage_store.list()
        Mirror(mirror).refs()
        assert [one for one in left if not one.exists()] == []


def test_f11_stale_files_are_removed_only_once_per_process(root, origin, mirror):
    workspaces = GitWorkspaces(root, "shop")
    asyncio.run(workspaces.ensure(BRANCH, base="", remote=origin.remote))
    busy = mirror / "refs" / "heads" / "of-somebody.lock"
    busy.touch()
    asyncio.run(workspaces.ensure("treehand/shop-2", base="", remote=origin.remote))
    assert busy.exists()


def test_f10_a_start_on_a_full_disk_says_what_to_do(root):
    root.mkdir(parents=True, exist_ok=True)
    (root / "daemon.lock").symlink_to("/dev/full")
    with pytest.raises(CannotStart, match="must be a writable folder with free space"), daemon_lock(root):
        raise AssertionError
