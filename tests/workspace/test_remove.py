"""Salvage, removal and the sweep: work is saved before it is removed, and nothing is left over."""

import errno
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from bot.system.trash import Trash
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
SALVAGE = "refs/treehand/salvage/shop-1/1"


@pytest.fixture
async def workspace(workspaces, origin):
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


def left(root):
    return [path for name in ("worktrees", "shadows", "trash") for path in (root / name).glob("*/*")]


async def test_an_unchanged_worktree_has_nothing_to_salvage(workspaces, workspace):
    assert await workspaces.salvage(BRANCH) == ""


async def test_a_branch_without_a_worktree_can_be_salvaged_and_removed(workspaces):
    assert await workspaces.salvage(BRANCH) == ""
    await workspaces.remove(BRANCH)


async def test_uncommitted_work_is_kept_on_a_ref_after_the_worktree_is_removed(workspaces, workspace, mirror, root):
    (workspace.path / "half.py").write_text("unfinished\n")

    assert await workspaces.salvage(BRANCH) == SALVAGE
    assert await workspaces.salvage(BRANCH) == SALVAGE
    await workspaces.remove(BRANCH)

    assert run_git(mirror, "show", f"{SALVAGE}:half.py") == "unfinished"
    assert [saved.ref for saved in await workspaces.salvage_store.list()] == [SALVAGE]
    assert left(root) == []


async def test_later_salvage_of_a_branch_gets_the_next_number(workspaces, workspace):
    (workspace.path / "half.py").write_text("unfinished\n")
    await workspaces.salvage(BRANCH)
    (workspace.path / "half.py").write_text("a bit more\n")
    assert await workspaces.salvage(BRANCH) == "refs/treehand/salvage/shop-1/2"


async def test_an_unpushed_commit_is_salvaged(workspaces, workspace, mirror):
    (workspace.path / "new.py").write_text("x\n")
    change = await workspaces.capture(BRANCH, message="New", at=1000)
    assert run_git(mirror, "rev-parse", await workspaces.salvage(BRANCH)) == change.head


async def test_a_pushed_commit_needs_no_salvage_even_if_its_branch_was_deleted(workspaces, workspace, origin):
    (workspace.path / "new.py").write_text("x\n")
    await workspaces.capture(BRANCH, message="New", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    run_git(origin.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    assert await workspaces.salvage(BRANCH) == ""


async def test_a_commit_that_a_turn_took_over_after_its_branch_was_deleted_is_salvaged(workspaces, workspace, origin):
    """The turn publishes it again, so until then it is unpublished work."""
    (workspace.path / "new.py").write_text("x\n")
    await workspaces.capture(BRANCH, message="New", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    run_git(origin.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert await workspaces.salvage(BRANCH)


async def test_removal_is_complete_and_can_be_repeated(workspaces, workspace, origin, mirror, root):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    await workspaces.remove(BRANCH)
    await workspaces.remove(BRANCH)
    assert left(root) == []
    assert run_git(mirror, "for-each-ref", "refs/heads", "refs/treehand") == ""
    assert BRANCH not in run_git(mirror, "worktree", "list")


async def test_an_interrupted_removal_is_completed_by_the_next(workspaces, workspace, root):
    (root / "trash" / "shop").mkdir(parents=True)
    workspace.path.rename(root / "trash" / "shop" / "half-way")
    await workspaces.remove(BRANCH)
    assert left(root) == []


async def test_a_sweep_salvages_and_removes_all_other_branches(workspaces, workspace, origin, root):
    other = await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    (workspace.path / "half.py").write_text("unfinished\n")

    said = await workspaces.sweep({"treehand/shop-2"})

    assert said == [f"{BRANCH} removed; its unpublished work is kept at {SALVAGE}"]
    assert other.path.exists()
    assert not workspace.path.exists()
    assert await workspaces.sweep({"treehand/shop-2"}) == []


async def test_a_sweep_does_not_touch_foreign_folders_and_refs(workspaces, workspace, root, mirror):
    theirs = workspace.path.parent / "by-hand"
    theirs.mkdir()
    run_git(mirror, "update-ref", "refs/heads/people", workspace.base)
    await workspaces.sweep(set())
    assert theirs.exists()
    assert run_git(mirror, "rev-parse", "refs/heads/people") == workspace.base


async def test_a_sweep_removes_leftovers_of_a_killed_process(workspaces, workspace, root):
    (root / "trash" / "shop" / "old" / "deep").mkdir(parents=True)
    (root / "shadows" / "shop" / "shop-9~new").mkdir(parents=True)
    await GitWorkspaces(root, "shop").sweep({BRANCH})
    assert sorted(path.name for path in left(root)) == ["shop-1", "shop-1", "shop-1~agent"]


async def test_a_sweep_removes_git_directories_of_agents_of_an_earlier_version(workspaces, workspace, origin):
    mounts = workspace.mounts
    (mounts.shadow / "config").write_text("[core]\n\tfsmonitor = touch evil\n")
    shutil.rmtree(mounts.agent_git)
    await workspaces.sweep({BRANCH})
    assert not mounts.shadow.exists()
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert "fsmonitor" not in (mounts.shadow / "config").read_text()
    assert mounts.agent_git.is_dir()


async def test_packing_the_mirror_keeps_all_needed_objects(workspaces, workspace, mirror, tmp_path):
    (workspace.path / "half.py").write_text("unfinished\n")
    ref = await workspaces.salvage(BRANCH)
    pack_often(mirror, tmp_path, times=21)
    await workspaces.pack_mirror()
    packs = list((mirror / "objects" / "pack").glob("*.pack"))
    assert len([pack for pack in packs if not pack.with_suffix(".mtimes").exists()]) == 1
    assert len(packs) == 2, "and one with what nothing refers to"
    assert run_git(mirror, "show", f"{ref}:half.py") == "unfinished"
    assert run_git(workspace.path, "status", "--porcelain") == "?? half.py"


def pack_often(mirror, tmp_path, *, times):
    """Packs the given number of objects, each into its own pack."""
    files = [tmp_path / f"{number}.txt" for number in range(times)]
    for file in files:
        file.write_text(file.name)
    for sha in run_git(mirror, "hash-object", "-w", *map(str, files)).split():
        run_git(mirror, "pack-objects", "-q", "objects/pack/pack", stdin=f"{sha}\n")


@pytest.mark.usefixtures("removes_deep_folders")
def test_deep_closed_folders_with_links_are_deleted(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    thing = tmp_path / "thing"
    thing.mkdir()
    (thing / "link").symlink_to(outside)
    (thing / "-rf").write_text("")
    os.mkfifo(thing / "pipe")
    (thing / "closed").mkdir()
    (thing / "closed" / "file").write_text("")
    (thing / "closed").chmod(0)
    make_deep(thing, 1200)
    trash = Trash(tmp_path / "trash")

    trash.throw(thing)
    trash.throw(thing)
    trash.empty(seconds=60)

    assert list((tmp_path / "trash").iterdir()) == []
    assert (outside / "precious").exists()


def test_files_of_every_name_and_kind_are_deleted(tmp_path):
    thing = tmp_path / "thing"
    thing.mkdir()
    for name in (b"no \xff utf-8", b"new\nline", b"-rf", b"x" * 255):
        (thing / os.fsdecode(name)).mkdir()
        (thing / os.fsdecode(name) / os.fsdecode(name)).write_text("")
    (thing / "pipe").mkdir()
    os.mkfifo(thing / "pipe" / "pipe", 0o000)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(thing / "socket"))
    (thing / "nobody reads this").write_text("")
    (thing / "nobody reads this").chmod(0)
    trash = Trash(tmp_path / "trash")
    trash.throw(thing)
    assert trash.empty() == ()
    assert list((tmp_path / "trash").iterdir()) == []


@pytest.fixture
def stuck(workspace):
    """A folder in the worktree that cannot be moved or deleted, where this is allowed."""
    folder = workspace.path / "src" / "busy"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    for left_over in Path(workspace.path.parents[2]).rglob("busy"):
        no_longer(left_over)


def no_longer(busy):
    subprocess.run(["umount", "-l", str(busy)], check=True)


async def test_a_folder_that_cannot_be_deleted_is_moved_away_reported_and_retried(
    workspaces, workspace, stuck, root, mirror
):
    (stuck / "inside").write_text("x")
    await workspaces.remove(BRANCH)
    assert not workspace.path.exists()
    assert run_git(mirror, "for-each-ref", "refs/heads") == ""

    (said,) = await workspaces.sweep(set())
    assert "'busy' cannot be deleted (device or resource busy)" in said
    busy = next((root / "trash").rglob("busy"))
    assert (busy / "inside").exists(), "no mount is entered"
    no_longer(busy)
    assert await workspaces.sweep(set()) == []
    assert left(root) == []


async def test_a_worktree_that_cannot_be_moved_keeps_its_refs_and_is_reported(
    workspaces, workspace, origin, root, monkeypatch
):
    other = await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    rename = Path.rename

    def busy(path, target):
        if path == workspace.path:
            raise OSError(errno.EBUSY, "Device or resource busy")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", busy)
    await workspaces.remove(BRANCH)
    said = await workspaces.sweep(set())
    assert said[0].startswith(f"{BRANCH} could not be removed: ")
    assert said[1:] == ["treehand/shop-2 removed"]
    monkeypatch.undo()
    assert await workspaces.sweep(set()) == [f"{BRANCH} removed"]
    assert not other.path.exists()


async def test_a_sweep_limited_to_known_branches_keeps_all_others(workspaces, workspace, origin):
    other = await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    assert await workspaces.list_removable(set(), only={"treehand/shop-2"}) == ["treehand/shop-2"]
    assert await workspaces.sweep(set(), only={"treehand/shop-2"}) == ["treehand/shop-2 removed"]
    assert (workspace.path.exists(), other.path.exists()) == (True, False)


async def test_list_removable_names_exactly_what_the_sweep_removes(workspaces, workspace, root, mirror):
    (root / "shadows" / "shop" / "shop-9~new").mkdir(parents=True)
    (root / "shadows" / "shop" / "linked").symlink_to(root)
    assert await workspaces.list_removable(set()) == [BRANCH, str(root / "shadows" / "shop" / "shop-9~new")]
    assert workspace.path.exists()
    await workspaces.sweep(set())
    assert await workspaces.list_removable(set()) == []
    assert (root / "shadows" / "shop" / "linked").is_symlink()


async def test_a_worktree_without_its_branch_is_set_aside(workspaces, workspace, root, mirror):
    (workspace.path / "half.py").write_text("nobody could salvage this\n")
    for ref in run_git(mirror, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/treehand").split():
        run_git(mirror, "update-ref", "-d", ref)
    await workspaces.sweep(set())
    (aside,) = (root / "aside" / "shop").iterdir()
    assert (aside / "half.py").exists()
    assert left(root) == []


async def test_an_incomplete_pack_of_a_killed_process_is_removed(workspaces, workspace, root, mirror):
    half = mirror / "objects" / "pack" / "tmp_pack_x"
    half.write_bytes(b"half")
    await GitWorkspaces(root, "shop").sweep({BRANCH})
    assert not half.exists()


async def test_packing_keeps_objects_that_an_agents_git_still_refers_to(workspaces, origin, mirror, tmp_path):
    """A branch that people rewrote is gone from the mirror, but not from a git directory that was built before."""
    origin.commit({"feature.py": "x\n"}, branch="feature")
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    old = run_git(workspace.path, "rev-parse", "origin/feature")
    run_git(origin.bare, "update-ref", "-d", "refs/heads/feature")
    await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    for file in (mirror / "objects").rglob("*"):
        os.utime(file, (0, 0))
    pack_often(mirror, tmp_path, times=21)
    await workspaces.pack_mirror()
    assert run_git(workspace.path, "show", f"{old}:feature.py") == "x"
    assert run_git(workspace.path, "log", "--all", "--oneline") != ""
    assert (mirror / "objects" / "info" / "commit-graph").exists() or list((mirror / "objects/info").glob("commit-g*"))


async def test_packing_prunes_unreferenced_objects_once_no_worktree_borrows_them(
    workspaces, origin, workspace, mirror, tmp_path
):
    lost = run_git(mirror, "hash-object", "-w", "--stdin", stdin="nobody refers to this")
    for file in (mirror / "objects").rglob("*"):
        os.utime(file, (0, 0))
    await workspaces.remove(BRANCH)
    pack_often(mirror, tmp_path, times=21)
    await workspaces.pack_mirror()
    assert lost not in run_git(mirror, "cat-file", "--batch-check", "--batch-all-objects")


def make_deep(folder, levels):
    """Makes folders deeper than the longest path."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=handle)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
