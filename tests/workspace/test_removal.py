"""Salvage, removal and the sweep: nothing is destroyed before it is saved, and nothing is left."""

import os

import pytest

from bot.workspace.trash import Trash
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
SALVAGE = "refs/treehand/salvage/shop-1/1"


@pytest.fixture
async def workspace(workspaces, origin):
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


def left(root):
    return [path for name in ("worktrees", "shadows", "trash") for path in (root / name).glob("*/*")]


async def test_a_worktree_in_which_nothing_was_done_has_nothing_to_salvage(workspaces, workspace):
    assert await workspaces.salvage(BRANCH) == ""


async def test_a_branch_that_never_had_a_worktree_can_be_salvaged_and_removed(workspaces):
    assert await workspaces.salvage(BRANCH) == ""
    await workspaces.remove(BRANCH)


async def test_uncommitted_work_is_kept_on_a_ref_that_outlives_the_worktree(workspaces, workspace, mirror, root):
    (workspace.path / "half.py").write_text("unfinished\n")

    assert await workspaces.salvage(BRANCH) == SALVAGE
    assert await workspaces.salvage(BRANCH) == SALVAGE
    await workspaces.remove(BRANCH)

    assert run_git(mirror, "show", f"{SALVAGE}:half.py") == "unfinished"
    assert [saved.ref for saved in await workspaces.find_salvaged()] == [SALVAGE]
    assert left(root) == []


async def test_later_work_gets_a_number_of_its_own(workspaces, workspace):
    (workspace.path / "half.py").write_text("unfinished\n")
    await workspaces.salvage(BRANCH)
    (workspace.path / "half.py").write_text("a bit more\n")
    assert await workspaces.salvage(BRANCH) == "refs/treehand/salvage/shop-1/2"


async def test_a_commit_that_was_never_pushed_is_kept(workspaces, workspace, mirror):
    (workspace.path / "new.py").write_text("x\n")
    change = await workspaces.capture(BRANCH, message="New", at=1000)
    assert run_git(mirror, "rev-parse", await workspaces.salvage(BRANCH)) == change.head


async def test_a_commit_that_was_pushed_is_safe_even_after_its_branch_was_squashed_and_deleted(
    workspaces, workspace, origin
):
    (workspace.path / "new.py").write_text("x\n")
    await workspaces.capture(BRANCH, message="New", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    run_git(origin.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert await workspaces.salvage(BRANCH) == ""


async def test_removal_leaves_nothing_and_can_be_repeated(workspaces, workspace, origin, mirror, root):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    await workspaces.remove(BRANCH)
    await workspaces.remove(BRANCH)
    assert left(root) == []
    assert run_git(mirror, "for-each-ref", "refs/heads", "refs/treehand") == ""
    assert BRANCH not in run_git(mirror, "worktree", "list")


async def test_a_removal_that_was_cut_off_is_ended_by_the_next(workspaces, workspace, root):
    (root / "trash" / "shop").mkdir(parents=True)
    workspace.path.rename(root / "trash" / "shop" / "half-way")
    await workspaces.remove(BRANCH)
    assert left(root) == []


async def test_a_sweep_salvages_and_removes_all_but_what_is_to_be_kept(workspaces, workspace, origin, root):
    other = await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    (workspace.path / "half.py").write_text("unfinished\n")

    said = await workspaces.sweep({"treehand/shop-2"})

    assert said == [f"{BRANCH} removed; its unpublished work is kept at {SALVAGE}"]
    assert other.path.exists()
    assert not workspace.path.exists()
    assert await workspaces.sweep({"treehand/shop-2"}) == []


async def test_a_sweep_touches_nothing_that_is_not_ours(workspaces, workspace, root, mirror):
    theirs = workspace.path.parent / "by-hand"
    theirs.mkdir()
    run_git(mirror, "update-ref", "refs/heads/people", workspace.base)
    await workspaces.sweep(set())
    assert theirs.exists()
    assert run_git(mirror, "rev-parse", "refs/heads/people") == workspace.base


async def test_a_sweep_clears_what_a_process_that_died_left(workspaces, workspace, root):
    (root / "trash" / "shop" / "old" / "deep").mkdir(parents=True)
    (root / "shadows" / "shop" / "shop-9~new").mkdir(parents=True)
    await GitWorkspaces(root, "shop").sweep({BRANCH})
    assert [path.name for path in left(root)] == ["shop-1", "shop-1"]


async def test_upkeep_loses_nothing_that_is_needed(workspaces, workspace, mirror, tmp_path):
    (workspace.path / "half.py").write_text("unfinished\n")
    ref = await workspaces.salvage(BRANCH)
    pack_often(mirror, tmp_path, times=21)
    await workspaces.maintain()
    assert len(list((mirror / "objects" / "pack").glob("*.pack"))) == 1
    assert run_git(mirror, "show", f"{ref}:half.py") == "unfinished"
    assert run_git(workspace.path, "status", "--porcelain") == "?? half.py"


def pack_often(mirror, tmp_path, *, times):
    """One pack for each of as many objects."""
    files = [tmp_path / f"{number}.txt" for number in range(times)]
    for file in files:
        file.write_text(file.name)
    for sha in run_git(mirror, "hash-object", "-w", *map(str, files)).split():
        run_git(mirror, "pack-objects", "-q", "objects/pack/pack", stdin=f"{sha}\n")


def test_what_is_deleted_may_be_deep_closed_and_full_of_links(tmp_path):
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
    trash.empty()

    assert list((tmp_path / "trash").iterdir()) == []
    assert (outside / "precious").exists()


def make_deep(folder, levels):
    """Deeper than a path can be long."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=handle)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
