"""A full disk and missing permissions: reported clearly, and no incomplete files are left."""

import os
import subprocess
from pathlib import Path

import pytest

from bot.errors import Retryable
from bot.system.trash import Trash
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
NOBODY = 65534


@pytest.fixture
def small_disk(tmp_path):
    """A disk of four megabytes, where mounting is allowed."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_disk_full_at_checkout_leaves_no_half_worktree(small_disk, origin):
    origin.commit({f"{number}.bin": os.urandom(600_000) for number in range(4)})
    workspaces = GitWorkspaces(small_disk, "shop")

    with pytest.raises(Retryable, match="disk is full"):
        await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert list((small_disk / "worktrees" / "shop").iterdir()) == []
    assert not (small_disk / "mirrors" / "shop.git" / "worktrees" / "shop-1").exists()


async def test_a_full_disk_at_capture_commits_nothing_and_capture_works_once_there_is_space(small_disk, origin):
    workspaces = GitWorkspaces(small_disk, "shop")
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "big.bin").write_bytes(os.urandom(1_500_000))
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(bytes(4_000_000))

    with pytest.raises(Retryable, match="disk is full"):
        await workspaces.capture(BRANCH, message="m", at=1000)
    assert run_git(small_disk / "mirrors" / "shop.git", "rev-parse", f"refs/heads/{BRANCH}") == workspace.head

    filler.unlink()
    change = await workspaces.capture(BRANCH, message="m", at=1000)
    assert [file.path for file in change.files] == ["big.bin"]


@pytest.fixture
def full(small_disk):
    """Fills the disk. The returned function frees the space."""

    def fill():
        filler = small_disk / "filler"
        with pytest.raises(OSError, match="No space"):
            filler.write_bytes(bytes(5_000_000))
        return filler.unlink

    return fill


async def test_f10_a_full_disk_at_a_fetch_keeps_the_mirror_and_fetching_works_once_there_is_space(
    small_disk, full, origin
):
    workspaces = GitWorkspaces(small_disk, "shop")
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    news = origin.commit({"news.bin": os.urandom(300_000)})
    make_room = full()

    with pytest.raises(Retryable, match="disk is full"):
        await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)

    make_room()
    assert (await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)).head == news
    run_git(small_disk / "mirrors" / "shop.git", "fsck", "--connectivity-only")
    assert [path.name for path in (small_disk / "mirrors").iterdir()] == ["shop.git"]


async def test_f10_a_full_disk_at_salvage_removes_nothing_and_salvage_works_once_there_is_space(
    small_disk, full, origin
):
    workspaces = GitWorkspaces(small_disk, "shop")
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "half.bin").write_bytes(os.urandom(100_000))
    make_room = full()

    with pytest.raises(Retryable, match="disk is full"):
        await workspaces.salvage(BRANCH)
    assert "could not be removed" in (await workspaces.sweep([]))[0]
    assert (workspace.path / "half.bin").exists()

    make_room()
    ref = await workspaces.salvage(BRANCH)
    size = run_git(small_disk / "mirrors" / "shop.git", "cat-file", "-s", f"{ref}:half.bin")
    assert size == "100000"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else")
def test_folders_without_permissions_for_their_owner_are_deleted(tmp_path):
    inner = tmp_path / "thing" / "closed" / "more"
    inner.mkdir(parents=True)
    (inner / "file").write_text("")
    for folder in (tmp_path, *tmp_path.rglob("*")):
        os.chown(folder, NOBODY, NOBODY)
    for folder in (inner, inner.parent):
        folder.chmod(0)
    (tmp_path / "trash").mkdir()
    os.chown(tmp_path / "trash", NOBODY, NOBODY)
    child = os.fork()
    if not child:
        os.chdir(tmp_path)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        trash = Trash(Path("trash"))
        trash.throw(Path("thing"))
        trash.empty()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["trash"]
    assert list((tmp_path / "trash").iterdir()) == []
