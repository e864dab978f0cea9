"""F19: a run completes despite removed folders and a damaged or missing mirror."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, NeedsTurn, Retryable
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH, OTHER = "treehand/shop-1", "treehand/shop-2"
TRIES = 4
AT_WORK = "half.py"

Damage = Callable[[Path], None]


def it_is_gone(mirror: Path) -> None:
    shutil.rmtree(mirror)


def all_objects_are_gone(mirror: Path) -> None:
    shutil.rmtree(mirror / "objects")


def packed_refs_are_garbage(mirror: Path) -> None:
    run_git(mirror, "pack-refs", "--all")
    with (mirror / "packed-refs").open("a") as file:
        file.write("\0garbage\n")


def head_is_gone(mirror: Path) -> None:
    (mirror / "HEAD").unlink()


def head_is_garbage(mirror: Path) -> None:
    (mirror / "HEAD").write_text("garbage")


def the_configuration_is_garbage(mirror: Path) -> None:
    (mirror / "config").write_text("[[[")


def a_commit_has_no_content(mirror: Path) -> None:
    _object(mirror, BRANCH).write_bytes(b"")


def a_tree_is_garbage(mirror: Path) -> None:
    _object(mirror, f"{BRANCH}^{{tree}}").write_bytes(b"garbage")


def a_ref_has_no_content(mirror: Path) -> None:
    (mirror / "refs" / "heads" / BRANCH).write_bytes(b"")


DAMAGES = (
    it_is_gone, all_objects_are_gone, packed_refs_are_garbage, head_is_gone, head_is_garbage,
    the_configuration_is_garbage, a_commit_has_no_content, a_tree_is_garbage, a_ref_has_no_content,
)  # fmt: skip


def _object(mirror: Path, name: str) -> Path:
    sha = run_git(mirror, "rev-parse", name)
    path = mirror / "objects" / sha[:2] / sha[2:]
    path.chmod(0o600)
    return path


async def work(workspaces: GitWorkspaces, origin, branch: str, file: str, at: float, meanwhile=None) -> None:
    """Runs one turn like the engine does; a test may interfere at one moment of it."""
    moments = meanwhile or {}
    workspace = await workspaces.ensure(branch, base="", remote=origin.remote)
    (workspace.path / file).write_text("x\n")
    moments.pop("while the agent works", nothing)()
    await workspaces.capture(branch, message=f"Add {file}", at=at)
    moments.pop("before the push", nothing)()
    await workspaces.ensure_pushed(branch, remote=origin.remote)


def nothing() -> None: ...


async def until_it_succeeds(turn: Callable[[], Awaitable[None]]) -> None:
    for _ in range(TRIES):
        try:
            return await turn()
        except (Retryable, NeedsTurn):
            continue
        except NeedsHuman as problem:
            assert "A retry " in str(problem)
    raise AssertionError(f"not within {TRIES} tries")


@pytest.fixture
async def review_and_work(workspaces, origin):
    """One run is in review, and one has a working agent."""
    await work(workspaces, origin, BRANCH, "published.py", 1000)
    workspace = await workspaces.ensure(OTHER, base="", remote=origin.remote)
    (workspace.path / AT_WORK).write_text("unfinished\n")
    return workspaces


async def assert_both_runs_end(workspaces: GitWorkspaces, origin, meanwhile=None) -> None:
    await until_it_succeeds(lambda: work(workspaces, origin, OTHER, "done.py", 2000, meanwhile))
    await until_it_succeeds(lambda: work(workspaces, origin, BRANCH, "more.py", 3000))

    assert not meanwhile, "its moment never came"
    assert run_git(origin.bare, "show", f"{OTHER}:done.py") == "x"
    assert run_git(origin.bare, "show", f"{BRANCH}:published.py") == "x"
    assert run_git(origin.bare, "show", f"{BRANCH}:more.py") == "x"
    for branch in (BRANCH, OTHER):
        await workspaces.salvage(branch)
        await workspaces.remove(branch)
    assert list(await workspaces.list_removable([])) == []


def assert_files_are_somewhere(root: Path) -> None:
    lying = [*(root / "aside").rglob(AT_WORK), *(root / "worktrees").rglob(AT_WORK)]
    assert [path.read_text() for path in lying] == ["unfinished\n"]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_f19_a_mirror_damaged_while_an_agent_works_ends_no_run(review_and_work, origin, mirror, root, damage):
    await assert_both_runs_end(review_and_work, origin, {"while the agent works": lambda: damage(mirror)})


@pytest.mark.parametrize(
    "damage", [it_is_gone, packed_refs_are_garbage, a_tree_is_garbage], ids=lambda one: one.__name__
)
async def test_f19_a_mirror_damaged_before_a_push_ends_no_run(review_and_work, origin, mirror, damage):
    await assert_both_runs_end(review_and_work, origin, {"before the push": lambda: damage(mirror)})


@pytest.mark.parametrize(
    "damage",
    [it_is_gone, all_objects_are_gone, the_configuration_is_garbage, a_commit_has_no_content, a_ref_has_no_content],
    ids=lambda one: one.__name__,
)
async def test_f19_a_mirror_damaged_between_two_processes_ends_no_run(review_and_work, origin, mirror, root, damage):
    damage(mirror)
    workspaces = GitWorkspaces(root, "shop")
    workspace = await workspaces.ensure(OTHER, base="", remote=origin.remote)
    assert_files_are_somewhere(root)
    assert (workspace.path / "README.md").exists()
    await assert_both_runs_end(workspaces, origin)


async def test_f19_intact_objects_of_a_damaged_mirror_are_copied(review_and_work, origin, mirror, root, caplog):
    """An unpublished commit, salvaged work, and the files that an agent is editing."""
    change = await review_and_work.capture(OTHER, message="Unpublished", at=2000)
    folder = review_and_work.folder(OTHER)
    (folder / AT_WORK).write_text("unfinished, but more\n")
    ref = await review_and_work.salvage(OTHER)
    salvaged = run_git(mirror, "rev-parse", ref)
    a_tree_is_garbage(mirror)
    with pytest.raises(Retryable):
        await work(review_and_work, origin, BRANCH, "more.py", 2000)

    with pytest.raises(Retryable, match="Treehand fetches a new one and continues"):
        await review_and_work.salvage(OTHER)
    workspace = await review_and_work.ensure(OTHER, base="", remote=origin.remote)

    assert (workspace.head, run_git(mirror, "rev-parse", ref)) == (change.head, salvaged)
    assert (folder / AT_WORK).read_text() == "unfinished, but more\n"
    assert not (root / "aside").exists()
    kept = next(mirror.parent.glob("shop.git.damaged-*"))
    assert f"damaged={kept}:" in caplog.text
    run_git(mirror, "fsck", "--connectivity-only")


async def test_f19_a_merge_in_progress_in_a_damaged_mirror_begins_again(review_and_work, origin, mirror):
    theirs = origin.commit({AT_WORK: "theirs\n"})
    merge = lambda: review_and_work.ensure(OTHER, base="", remote=origin.remote, merge="main")  # noqa: E731
    first = await merge()
    the_configuration_is_garbage(mirror)
    with pytest.raises(Retryable):
        await review_and_work.capture(OTHER, message="Merge", at=3000)

    again = await merge()
    assert again.conflicts == first.conflicts != ()
    (again.path / AT_WORK).write_text("both\n")
    change = await review_and_work.capture(OTHER, message="Merge", at=3000)
    assert theirs in run_git(mirror, "rev-parse", f"{change.head}^@").split()


async def test_f19_a_damaged_remote_does_not_count_as_a_damaged_mirror(review_and_work, origin, mirror):
    """Its error messages are like those of a damaged mirror."""
    origin.commit({"never.py": "x\n"})
    for one in (origin.bare / "objects").glob("[0-9a-f][0-9a-f]/*"):
        one.chmod(0o600)
        one.write_bytes(b"garbage")
    for _ in range(2):
        with pytest.raises(Retryable):
            await review_and_work.ensure("treehand/shop-3", base="", remote=origin.remote)
    assert [path.name for path in mirror.parent.iterdir()] == ["shop.git"]


async def test_f19_a_damaged_mirror_is_rebuilt_even_if_no_turn_starts(review_and_work, origin, mirror, root):
    the_configuration_is_garbage(mirror)
    workspaces = GitWorkspaces(root, "shop")

    async def remote() -> Remote:
        return origin.remote

    await workspaces.ensure_mirror_intact(remote)
    await workspaces.sweep([OTHER])
    assert run_git(mirror, "for-each-ref", "--format=%(refname)", "refs/heads") == f"refs/heads/{OTHER}"


@pytest.mark.parametrize("moment", ["while the agent works", "before the push"])
async def test_f19_a_folder_removed_during_a_turn_costs_at_most_that_turn(workspaces, origin, moment):
    await work(workspaces, origin, BRANCH, "published.py", 1000)
    gone = {moment: lambda: shutil.rmtree(workspaces.folder(BRANCH))}
    await until_it_succeeds(lambda: work(workspaces, origin, BRANCH, "more.py", 2000, gone))
    assert run_git(origin.bare, "ls-tree", "--name-only", BRANCH, "published.py", "more.py").count("\n") == 1
    assert not gone


async def test_f19_a_run_whose_folder_was_removed_in_review_still_ends(workspaces, origin, mirror):
    await work(workspaces, origin, BRANCH, "published.py", 1000)
    shutil.rmtree(workspaces.folder(BRANCH))
    assert await workspaces.salvage(BRANCH) == ""
    await workspaces.remove(BRANCH)
    assert run_git(mirror, "for-each-ref", "refs/heads", "refs/treehand") == ""


async def test_f19_put_back_without_a_mirror_changes_nothing(workspaces, origin, mirror):
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    it_is_gone(mirror)
    assert await workspaces.put_back(BRANCH) == ""
