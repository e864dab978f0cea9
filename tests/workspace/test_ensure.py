"""A worktree is made from the current state of the remote, completely or not at all, and found again unchanged."""

import asyncio
import re
import threading

import pytest

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, NoBranch, Retryable
from bot.git.command import GitFailed
from bot.workspace.mirror import Mirror
from bot.workspace.paths import ProjectPaths, slug_for
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"


async def test_a_new_worktree_contains_the_newest_commit_of_the_remote(workspaces, origin):
    await workspaces.ensure("treehand/shop-0", base="", remote=origin.remote)
    newest = origin.commit({"README.md": "newer\n"})

    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert (workspace.base, workspace.head) == (newest, newest)
    assert (workspace.path / "README.md").read_text() == "newer\n"


async def test_a_worktree_can_be_made_from_another_base_branch(workspaces, origin):
    other = origin.commit({"other.txt": "x"}, branch="release/2")
    workspace = await workspaces.ensure(BRANCH, base="release/2", remote=origin.remote)
    assert workspace.base == other


async def test_f1_a_branch_that_was_begun_without_its_base_gets_it_later(workspaces, origin, mirror):
    """The state after git was killed, or met a full disk, between two refs."""
    first = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    await workspaces.remove(BRANCH)
    run_git(mirror, "update-ref", f"refs/heads/{BRANCH}", first.head)
    origin.commit({"README.md": "newer\n"})

    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert (workspace.base, workspace.head) == (first.base, first.head)
    (workspace.path / "new.py").write_text("x\n")
    assert [one.path for one in (await workspaces.capture(BRANCH, message="m", at=1.0)).files] == ["new.py"]


async def test_the_agents_own_git_works_in_the_worktree(workspaces, origin):
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "new.py").write_text("x\n")

    assert run_git(workspace.path, "branch", "--show-current") == BRANCH
    assert run_git(workspace.path, "status", "--porcelain") == "?? new.py"
    run_git(workspace.path, "add", "-A")
    run_git(workspace.path, "stash")
    run_git(workspace.path, "stash", "pop")
    run_git(workspace.path, "commit", "-qm", "by the agent")
    assert "new.py" in run_git(workspace.path, "diff", "--stat", "main...HEAD")
    assert run_git(workspace.path, "diff", "--name-only", "origin/main") == "new.py"
    run_git(workspace.path, "checkout", "-qb", "experiment")


async def test_changes_by_the_agents_git_do_not_reach_the_mirror(workspaces, origin, mirror):
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    config = (mirror / "config").read_text()
    run_git(workspace.path, "commit", "-q", "--allow-empty", "-m", "by the agent")
    run_git(workspace.path, "config", "core.fsmonitor", "/bin/false")
    run_git(workspace.path, "branch", "other")
    run_git(workspace.path, "update-ref", "-d", "refs/remotes/origin/main")

    refs = run_git(mirror, "for-each-ref", "--format=%(refname) %(objectname)")
    assert set(refs.splitlines()) == {
        f"{name} {workspace.base}"
        for name in (f"refs/heads/{BRANCH}", f"refs/treehand/base/{BRANCH}", "refs/remotes/origin/main")
    }
    assert (mirror / "config").read_text() == config
    assert not (mirror / "hooks").exists()


async def test_an_existing_worktree_is_returned_unchanged(workspaces, origin):
    first = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (first.path / "half.py").write_text("unfinished")
    origin.commit({"README.md": "newer\n"})

    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert again == first
    assert (again.path / "half.py").read_text() == "unfinished"


async def test_a_worktree_is_returned_unchanged_after_a_restart(workspaces, origin, root):
    first = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (first.path / "half.py").write_text("unfinished")
    assert await GitWorkspaces(root, "shop").ensure(BRANCH, base="", remote=origin.remote) == first
    assert (first.path / "half.py").exists()


async def test_a_folder_removed_by_hand_is_restored_from_the_last_commit(workspaces, origin):
    first = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (first.path / "done.py").write_text("done\n")
    change = await workspaces.capture(BRANCH, message="Done", at=1000)
    run_git(first.path.parent, "init", "-q", ".")  # a repository above it misleads nobody
    first.path.rename(first.path.with_name("gone"))

    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert again.head == change.head
    assert (again.path / "done.py").read_text() == "done\n"


async def test_a_half_made_worktree_is_made_again(workspaces, origin, mirror):
    first = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (mirror / "worktrees" / "shop-1" / "treehand").unlink()
    (first.path / "README.md").unlink()

    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert (again.path / "README.md").exists()


async def test_a_foreign_folder_is_set_aside_and_not_deleted(workspaces, origin, root):
    ProjectPaths(root, "shop").for_branch(BRANCH).folder.mkdir(parents=True)
    (root / "worktrees" / "shop" / "shop-1" / "precious").write_text("x")

    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert [path.read_text() for path in (root / "aside").rglob("precious")] == ["x"]


async def test_stale_locks_of_a_killed_process_do_not_block(workspaces, origin, mirror, root):
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    for name in ("packed-refs.lock", "config.lock", "refs/remotes/origin/main.lock", "worktrees/shop-1/index.lock"):
        (mirror / name).touch()
    origin.commit({"README.md": "newer\n"})

    await GitWorkspaces(root, "shop").ensure("treehand/shop-2", base="", remote=origin.remote)
    assert not list(mirror.rglob("*.lock"))


def test_a_command_beside_a_worktree_that_is_half_made_is_tried_again(workspaces):
    tried = []

    def half_made():
        tried.append(1)
        if len(tried) < 3:
            raise GitFailed(("fetch",), 128, "fatal: bad object worktrees/shop-2/HEAD")

    workspaces._mirror.retry_beside_new_worktrees(half_made)
    assert len(tried) == 3


async def test_worktrees_are_made_one_after_another(workspaces, origin, monkeypatch):
    """Git looks into all worktrees when it makes one, also into those that are half made."""
    mirror, alone = workspaces._mirror, []
    add = mirror.retry_beside_new_worktrees

    def noted(command):
        alone.append(mirror.adding_worktree.locked())
        add(command)

    monkeypatch.setattr(mirror, "retry_beside_new_worktrees", noted)
    await workspaces.ensure("treehand/shop-8", base="", remote=origin.remote)
    assert alone[-1] is True, "the last such command makes the worktree"


async def test_requests_made_during_a_fetch_share_the_next_fetch(workspaces, origin):
    fetched = []
    fetch = workspaces._mirror.fetch
    workspaces._mirror.fetch = lambda remote: (fetched.append(remote), fetch(remote))

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(workspaces.ensure(f"treehand/shop-{number}", base="", remote=origin.remote))

    assert len(fetched) == 2
    listing = run_git(workspaces._mirror.path, "worktree", "list", "--porcelain")
    assert len(re.findall(r"^locked", listing, re.MULTILINE)) == 8


async def test_an_empty_repository_is_reported_in_one_line(workspaces, empty_origin):
    with pytest.raises(NeedsHuman, match="no commits yet"):
        await workspaces.ensure(BRANCH, base="", remote=empty_origin.remote)


async def test_an_unmerged_branch_of_an_agent_cannot_be_the_base(workspaces, origin):
    origin.commit({"CLAUDE.md": "Do as I say.\n"}, branch="treehand/shop-7")
    with pytest.raises(NeedsHuman, match="`treehand/shop-7` is a branch of Treehand: merge it first"):
        await workspaces.ensure(BRANCH, base="treehand/shop-7", remote=origin.remote)


async def test_a_missing_base_is_reported(workspaces, origin, root):
    with pytest.raises(NoBranch, match="The base branch `develop` does not exist"):
        await workspaces.ensure(BRANCH, base="develop", remote=origin.remote)
    assert not (root / "worktrees").exists()


async def test_a_folder_without_a_repository_is_reported_in_one_line(workspaces, tmp_path):
    with pytest.raises(NeedsHuman, match="not a git repository that Treehand can read"):
        await workspaces.ensure(BRANCH, base="", remote=Remote(str(tmp_path)))


async def test_an_unreachable_remote_is_retryable_and_its_credential_is_hidden(workspaces):
    with pytest.raises(Retryable) as caught:
        await workspaces.ensure(BRANCH, base="", remote=Remote("http://me:secret@127.0.0.1:9/x.git"))
    assert "secret" not in str(caught.value)


async def test_a_failed_checkout_leaves_no_files(workspaces, origin, mirror, root):
    await workspaces.ensure("treehand/shop-0", base="", remote=origin.remote)
    (root / "shadows" / "shop").rename(root / "kept")
    (root / "shadows" / "shop").write_text("in the way")

    with pytest.raises(Retryable):
        await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert not (root / "worktrees" / "shop" / "shop-1").exists()
    assert not (mirror / "worktrees" / "shop-1").exists()


async def test_a_cancelled_ensure_completes_the_worktree_first(workspaces, origin):
    task = asyncio.ensure_future(workspaces.ensure(BRANCH, base="", remote=origin.remote))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    again = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert run_git(again.path, "status", "--porcelain") == ""


async def test_commits_of_people_are_merged_into_a_clean_worktree(workspaces, origin):
    await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)

    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)

    assert workspace.head == theirs
    assert (workspace.path / "theirs.py").exists()
    assert run_git(workspace.path, "status", "--porcelain") == ""


async def test_commits_of_people_wait_while_the_worktree_has_uncommitted_work(workspaces, origin):
    first = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    (first.path / "half.py").write_text("unfinished")
    origin.commit({"theirs.py": "x\n"}, branch=BRANCH)

    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert workspace == first
    assert (workspace.path / "half.py").exists()


async def test_a_branch_that_exists_on_the_remote_is_continued(origin, root, workspaces):
    base = origin.tip("main")
    theirs = origin.commit({"earlier.py": "x\n"}, branch=BRANCH)
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert (workspace.base, workspace.head) == (base, theirs)


async def test_files_are_checked_out_byte_for_byte(workspaces, origin):
    origin.commit(
        {".gitattributes": "*.bat text eol=crlf\n*.id ident\n*.bin filter=evil\n", "a.bat": "x\n", "b.id": "$Id$\n"}
    )
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    assert (workspace.path / "a.bat").read_bytes() == b"x\n"
    assert (workspace.path / "b.id").read_bytes() == b"$Id$\n"
    assert run_git(workspace.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["treehand/a/b", "treehand/A", "treehand/..", "-rf", "treehand/" + "x" * 300, "ü", ""])
def test_every_branch_has_its_own_folder_name(name):
    slug = slug_for(name)
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,80}", slug)
    assert slug not in {slug_for("treehand/a-b"), slug_for("treehand/a"), slug_for("treehand/x"), ".."}


async def test_a_fetch_succeeds_while_other_worktrees_are_being_made(root, origin, mirror, workspaces):
    """Git shows a worktree before it has a commit, and then refuses to fetch."""
    first = await workspaces.ensure("treehand/shop-1", base="", remote=origin.remote)
    ours, over = Mirror(mirror), threading.Event()
    await asyncio.to_thread(ours.fetch, origin.remote)  # the first one of a process clears away what the dead left

    def make_more():
        number = 0
        while not over.is_set():
            number += 1
            run_git(mirror, "worktree", "add", "--quiet", "--detach", str(root / f"more-{number}"), first.head)

    made = asyncio.get_running_loop().run_in_executor(None, make_more)
    try:
        for number in range(25):
            origin.commit({"README.md": f"{number}\n"})
            await asyncio.to_thread(ours.fetch, origin.remote)
    finally:
        over.set()
        await made
