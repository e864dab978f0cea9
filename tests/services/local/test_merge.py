"""A merge moves the user's branch exactly once, with a clean checkout of it, and never over uncommitted work."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.domain.pull_request import PullRequestState
from bot.errors import NeedsHuman, Retryable
from bot.services.local import merge_git
from bot.services.local.merge_git import MergeStyle
from tests.services.local.conftest import Shop
from tests.services.local.user_repository import BRANCH, commit, make_repository, picture, run_git

ROOT = Path(__file__).parents[3]
_NAMED = {f"GIT_{role}_{what}": "ana@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def state_of(folder):
    """Returns the visible state: HEAD's commit, files, index, git status."""
    return (
        run_git(folder, "rev-parse", "HEAD"),
        picture(folder),
        run_git(folder, "ls-files", "--stage", "--debug"),
        run_git(folder, "status", "--porcelain"),
    )


def make_a_mess(folder):
    (folder / "app.py").write_text("one\ntwo\nthree\nhalf a thought\n")
    (folder / "staged.py").write_text("staged\n")
    run_git(folder, "add", "staged.py")
    (folder / "untracked.txt").write_text("mine\n")
    (folder / "README.md").unlink()
    run_git(folder, "status")


def landings(shop):
    """Returns the number of merges on the user's main branch."""
    return int(run_git(shop.theirs, "rev-list", "--count", "--first-parent", "main")) - 1


def test_a_merge_updates_the_users_branch_and_closes_the_issue(shop):
    number = shop.offer()
    merged = shop.merge(number)

    assert run_git(shop.theirs, "rev-parse", "main") == merged.commit
    assert run_git(shop.theirs, "show", "main:cart.py") == "total = 0"
    log = run_git(shop.theirs, "log", "-1", "--format=%an|%ae|%cn|%ct|%s|%P", "main")
    assert (
        log
        == f"Ana Lee|ana.lee@localhost|Ana Lee|1700000000|Merge shop#2: Add a cart|{merged.base_before} {offered(shop)}"
    )
    assert merged.updated_folder == shop.theirs
    assert (shop.theirs / "cart.py").read_text() == "total = 0\n"
    assert run_git(shop.theirs, "status", "--porcelain", "--branch") == "## main"
    assert not shop.issues.show(1).issue.open
    shown = shop.pulls.show(number)
    assert (shown.pull.state, shown.ended_by, shown.merged_as) == (PullRequestState.MERGED, "Ana Lee", merged.commit)
    assert "+total = 0" in shown.diff
    assert shop.repository.tip("main") == merged.commit
    assert run_git(shop.theirs, "fsck", "--strict") == ""


def offered(shop):
    return shop.pulls.get_row(2)["head"]


def test_a_squash_is_one_commit_that_names_everybody_who_worked_on_it(shop):
    number = shop.offer(message="treehand's work\n\nCo-authored-by: Bo <bo@example.com>")
    merged = shop.merge(number, style=MergeStyle.SQUASH)
    log = run_git(shop.theirs, "log", "-1", "--format=%ae|%B|%P", "main")
    assert log == (
        "ana.lee@localhost|Add a cart (shop#2)\n\nCo-authored-by: Ana <ana@example.com>\n"
        f"Co-authored-by: Bo <bo@example.com>|{merged.base_before}"
    )
    assert run_git(shop.theirs, "show", "main:cart.py") == "total = 0"


def test_the_operators_merge_has_their_own_git_identity(shop):
    run_git(shop.theirs, "config", "user.name", "Ana M. Lee")
    run_git(shop.theirs, "config", "user.email", "ana@example.com")
    number = shop.offer()
    shop.merge(number, is_operator=True)
    assert run_git(shop.theirs, "log", "-1", "--format=%an|%ae|%cn|%ce", "main") == (
        "Ana M. Lee|ana@example.com|Ana M. Lee|ana@example.com"
    )
    assert shop.pulls.show(number).ended_by == "Ana Lee"


def test_a_checkout_with_uncommitted_changes_is_refused_and_left_unchanged(shop):
    make_a_mess(shop.theirs)
    before, head = state_of(shop.theirs), run_git(shop.theirs, "symbolic-ref", "HEAD")
    number = shop.offer()

    with pytest.raises(NeedsHuman, match=r"uncommitted changes in README\.md, app\.py, staged\.py") as refused:
        shop.merge(number)

    assert state_of(shop.theirs) == before
    assert run_git(shop.theirs, "symbolic-ref", "HEAD") == head
    assert shop.pulls.show(number).pull.state is PullRequestState.OPEN
    command = str(refused.value).split("`")[1]
    subprocess.run(command, shell=True, check=True, capture_output=True, env=os.environ | _NAMED)
    merged = shop.merge(number)
    assert run_git(shop.theirs, "rev-parse", "HEAD") == merged.commit
    run_git(shop.theirs, "stash", "pop", "--index")
    assert state_of(shop.theirs)[3] == before[3]


def test_an_untracked_file_is_not_overwritten(shop):
    (shop.theirs / "cart.py").write_text("mine\n")
    number = shop.offer()
    with pytest.raises(NeedsHuman, match=r"Untracked files would be overwritten: cart\.py\."):
        shop.merge(number)
    assert (shop.theirs / "cart.py").read_text() == "mine\n"
    assert landings(shop) == 0
    (shop.theirs / "cart.py").unlink()
    shop.merge(number)
    assert landings(shop) == 1


@pytest.mark.parametrize("mine", ["cart.py", "cart.py/deep/notes.txt"])
def test_an_ignored_file_is_not_overwritten(shop, mine):
    (shop.theirs / ".git" / "info" / "exclude").write_text("cart.py\n")
    kept = shop.theirs / mine
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("mine\n")
    number = shop.offer()
    with pytest.raises(NeedsHuman, match=rf"Untracked files would be overwritten: {re.escape(mine)}\."):
        shop.merge(number)
    assert kept.read_text() == "mine\n"
    assert landings(shop) == 0


@pytest.mark.parametrize("is_link", [False, True])
def test_an_ignored_file_or_link_in_the_place_of_a_new_folder_is_kept(shop, tmp_path, is_link):
    number = shop.offer({"cache/data.txt": "theirs\n"})
    (shop.theirs / ".git" / "info" / "exclude").write_text("cache\n")
    outside, mine = tmp_path / "outside", shop.theirs / "cache"
    outside.mkdir()
    mine.symlink_to(outside) if is_link else mine.write_text("mine\n")
    with pytest.raises(NeedsHuman, match=r"Untracked files would be overwritten: cache\."):
        shop.merge(number)
    assert mine.is_symlink() if is_link else mine.read_text() == "mine\n"
    assert not list(outside.iterdir())
    assert landings(shop) == 0


def test_no_hook_runs_when_a_checkout_is_updated(shop, tmp_path):
    hooks = shop.theirs / "own-hooks"
    for name in ("post-merge", "post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).parent.mkdir(exist_ok=True)
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-$(basename $0)\n")
        (hooks / name).chmod(0o755)
    number = shop.offer()
    run_git(shop.theirs, "config", "core.hooksPath", "own-hooks")
    shop.merge(number)
    assert list(tmp_path.glob("ran-*")) == []


def test_a_branch_that_is_checked_out_twice_is_not_merged(shop, tmp_path):
    run_git(shop.theirs, "worktree", "add", "-q", "--force", str(tmp_path / "second"), "main")
    with pytest.raises(NeedsHuman, match=r"is checked out in .* and .*second"):
        shop.merge(shop.offer())
    assert landings(shop) == 0


def test_a_merge_changes_nothing_for_a_user_on_another_branch(shop):
    run_git(shop.theirs, "switch", "-qc", "elsewhere")
    make_a_mess(shop.theirs)
    before = state_of(shop.theirs)
    merged = shop.merge(shop.offer())
    assert state_of(shop.theirs) == before
    assert run_git(shop.theirs, "symbolic-ref", "HEAD") == "refs/heads/elsewhere"
    assert merged.updated_folder is None


def test_a_linked_worktree_with_the_branch_is_updated(shop, tmp_path):
    run_git(shop.theirs, "switch", "-qc", "elsewhere")
    linked = tmp_path / "linked tree"
    run_git(shop.theirs, "worktree", "add", "-q", str(linked), "main")
    merged = shop.merge(shop.offer())

    assert merged.updated_folder == linked
    assert (linked / "cart.py").exists()
    assert run_git(linked, "status", "--porcelain", "--branch") == "## main"
    assert run_git(shop.theirs, "symbolic-ref", "HEAD") == "refs/heads/elsewhere"


def test_a_repository_given_by_its_linked_worktree_works_too(tmp_path):
    main = make_repository(tmp_path / "main")
    run_git(main, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    shop = Shop(tmp_path, tmp_path / "linked", base="main")
    merged = shop.merge(shop.offer())
    assert run_git(main, "rev-parse", "main") == merged.commit
    assert merged.updated_folder == main


def test_a_bare_repository_keeps_its_head(tmp_path):
    bare = tmp_path / "bare.git"
    run_git(tmp_path, "clone", "-q", "--bare", str(make_repository(tmp_path / "seed")), str(bare))
    shop = Shop(tmp_path, bare)
    merged = shop.merge(shop.offer())
    assert merged.updated_folder is None
    assert (bare / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert run_git(bare, "rev-parse", "main") == merged.commit


def test_a_merge_into_a_shallow_clone_works(tmp_path):
    seed = make_repository(tmp_path / "seed")
    commit(seed, {"more.py": "1\n"})
    run_git(tmp_path, "clone", "-q", "--depth=1", seed.as_uri(), str(tmp_path / "shallow"))
    shop = Shop(tmp_path, tmp_path / "shallow")
    merged = shop.merge(shop.offer())
    assert run_git(shop.theirs, "rev-parse", "main") == merged.commit


def test_commits_made_on_the_base_are_kept(shop):
    number = shop.offer()
    shop.commit({"other.py": "1\n"})
    shop.merge(number)
    assert run_git(shop.theirs, "ls-tree", "--name-only", "main").split() == [
        "README.md", "app.py", "cart.py", "other.py",
    ]  # fmt: skip


def test_a_conflict_names_the_files_and_changes_nothing(shop):
    number = shop.offer({"app.py": "ours\n", "README.md": "# Ours\n"})
    shop.commit({"app.py": "theirs\n", "README.md": "# Theirs\n"})
    before, head = state_of(shop.theirs), run_git(shop.theirs, "symbolic-ref", "HEAD")

    with pytest.raises(NeedsHuman, match=r"conflicts with the base branch in README\.md, app\.py\. Nothing was merged"):
        shop.merge(number)

    assert state_of(shop.theirs) == before
    assert run_git(shop.theirs, "symbolic-ref", "HEAD") == head
    assert shop.pulls.show(number).pull.state is PullRequestState.OPEN
    assert shop.issues.show(1).issue.open


def test_a_closed_pull_request_is_not_merged(shop):
    number = shop.offer()
    shop.pulls.close(number, by="ana")
    with pytest.raises(NeedsHuman, match="shop#2 is closed"):
        shop.merge(number)
    assert landings(shop) == 0


def test_a_pull_request_without_its_branch_is_not_merged(shop):
    number = shop.offer()
    shop.repository.remove_branch(BRANCH)
    with pytest.raises(NeedsHuman, match="no longer exists"):
        shop.merge(number)


def test_merging_again_changes_nothing_and_returns_the_same(shop):
    number = shop.offer()
    first = shop.merge(number)
    again = shop.merge(number)
    assert (again.commit, again.base_before) == (first.commit, first.base_before)
    assert landings(shop) == 1


def test_a_merge_made_by_hand_is_only_recorded(shop):
    number = shop.offer()
    run_git(shop.theirs, "pull", "-q", "--ff-only", str(shop.repository.bare), BRANCH)
    tip = run_git(shop.theirs, "rev-parse", "main")
    assert shop.merge(number).commit == tip
    assert run_git(shop.theirs, "rev-parse", "main") == tip


def test_a_base_that_moves_during_the_merge_is_merged_again(shop, monkeypatch):
    number = shop.offer()
    moves = iter([True])

    def copy_then_move(*args):
        if next(moves, False):
            shop.commit({"other.py": "1\n"})
        copy_objects(*args)

    copy_objects = merge_git._copy_objects
    monkeypatch.setattr(merge_git, "_copy_objects", copy_then_move)
    shop.merge(number)
    assert "other.py" in run_git(shop.theirs, "ls-tree", "--name-only", "main")
    assert landings(shop) == 2


def test_a_branch_that_cannot_be_moved_leaves_everything_unchanged(shop):
    """Another process holds the branch's lock file: both tries fail, and the user's checkout is unchanged."""
    number = shop.offer()
    before = state_of(shop.theirs)
    (shop.theirs / ".git/refs/heads/main.lock").touch()
    with pytest.raises(Retryable, match="Nothing has changed; merge again"):
        shop.merge(number)
    (shop.theirs / ".git/refs/heads/main.lock").unlink()
    assert state_of(shop.theirs) == before
    assert run_git(shop.theirs, "symbolic-ref", "HEAD") == "refs/heads/main"

    shop.merge(number)
    assert landings(shop) == 1


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from bot.services.local import checkout, merge, merge_git, pull_requests
from bot.services.local.server import LocalServer, LocalSite

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

def dies_before(module, name, call):
    real, calls = getattr(module, name), []
    def one(*args, **kwargs):
        calls.append(args)
        return die() if len(calls) == call else real(*args, **kwargs)
    setattr(module, name, one)

room, name, call = sys.argv[3:]
rooms = {"merge_git": merge_git, "merge": merge, "checkout": checkout,
    "LocalPullRequests": pull_requests.LocalPullRequests}
dies_before(rooms[room], name, int(call))
server = LocalServer(Path(sys.argv[1]), {"shop": LocalSite(Path(sys.argv[2]))}, lambda: 1_700_000_000.0)
server.merger("shop").merge(2, by="Ana Lee")
"""


@pytest.mark.parametrize(
    ("room", "name", "call"),
    [
        ("merge", "create_merge_commit", 1),
        ("merge", "move_branch", 1),
        ("merge_git", "find_clean_checkout", 1),
        ("merge_git", "git", 3),  # before the objects are handed over
        ("merge_git", "git", 5),  # after that
        ("merge_git", "branch_tip", 1),
        ("checkout", "_git_in", 2),  # before the files are updated
        ("merge_git", "git", 6),  # after that, before the branch moves
        ("LocalPullRequests", "record_merge", 1),
    ],
)
def test_a_repeated_merge_after_a_kill_at_any_step_merges_once(shop, room, name, call):
    number = shop.offer()
    (shop.theirs / "untracked.txt").write_text("mine\n")
    command = [sys.executable, "-c", KILLED_AT, str(shop.folder / "state"), str(shop.theirs), room, name, str(call)]
    killed = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=60)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    merged = shop.merge(number)

    assert landings(shop) == 1
    assert run_git(shop.theirs, "rev-parse", "main") == merged.commit
    assert run_git(shop.theirs, "status", "--porcelain", "--branch") == "## main\n?? untracked.txt"
    assert shop.pulls.show(number).pull.state is PullRequestState.MERGED
    assert shop.merge(number).commit == merged.commit


def test_two_simultaneous_merges_merge_once(shop):
    shop.offer()
    script = (
        "import sys; from pathlib import Path; from bot.services.local.server import LocalServer, LocalSite\n"
        "server = LocalServer(Path(sys.argv[1]), {'shop': LocalSite(Path(sys.argv[2]))}, lambda: 1_700_000_000.0)\n"
        "print(server.merger('shop').merge(2, by='Ana Lee').commit)"
    )
    command = [sys.executable, "-c", script, str(shop.folder / "state"), str(shop.theirs)]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, env=os.environ) for _ in range(2)]
    assert len({process.communicate(timeout=60)[0] for process in both}) == 1
    assert landings(shop) == 1


def test_two_pull_requests_are_merged_one_after_the_other(shop):
    first = shop.offer()
    second = shop.offer({"tax.py": "rate = 0\n"}, branch="treehand/shop-2", body="")
    shop.merge(first)
    shop.merge(second)
    assert run_git(shop.theirs, "show", "main:tax.py") == "rate = 0"
    assert (shop.theirs / "tax.py").exists()
