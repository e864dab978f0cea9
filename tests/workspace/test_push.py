"""A branch is pushed once, and never over others' commits."""

import shutil

import pytest

from bot.errors import Elsewhere, NeedsHuman, NeedsTurn, Retryable
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"


@pytest.fixture
async def head(workspaces, origin):
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "new.py").write_text("x\n")
    return (await workspaces.capture(BRANCH, message="New", at=1000)).head


async def test_a_pushed_branch_is_on_the_remote_and_pushing_again_changes_nothing(workspaces, origin, head):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == head


async def test_a_push_that_was_cut_off_before_it_was_noted_is_found_done(workspaces, origin, head, mirror):
    run_git(mirror, "push", "-q", str(origin.bare), f"{head}:refs/heads/{BRANCH}")
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert run_git(mirror, "rev-parse", f"refs/treehand/pushed/{BRANCH}") == head


async def test_commits_of_other_people_are_merged_and_never_overwritten(workspaces, origin, head):
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert set(run_git(origin.bare, "rev-parse", f"{BRANCH}^@").split()) == {head, theirs}


async def test_not_even_when_they_were_fetched_before(workspaces, origin, head):
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert set(run_git(origin.bare, "rev-parse", f"{BRANCH}^@").split()) == {head, theirs}


async def test_commits_of_other_people_that_conflict_with_ours_stay_as_they_are(workspaces, origin, head):
    theirs = origin.commit({"new.py": "theirs\n"}, branch=BRANCH)
    with pytest.raises(NeedsTurn, match="Somebody else has pushed"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == theirs


async def test_commits_on_top_of_ours_leave_nothing_to_push(workspaces, origin, head):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == theirs


async def test_a_branch_that_was_deleted_there_is_pushed_again(workspaces, origin, head):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    run_git(origin.bare, "update-ref", "-d", f"refs/heads/{BRANCH}")
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == head


async def test_a_commit_that_went_with_the_mirror_is_for_the_agent_to_make_again(workspaces, origin, head, mirror):
    shutil.rmtree(mirror)
    with pytest.raises(NeedsTurn, match="was lost"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "new.py").write_text("x\n")
    made = await workspaces.capture(BRANCH, message="New", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == made.head == head


async def test_a_refusal_is_told_in_the_remotes_own_words(workspaces, origin, head):
    hook = origin.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no secrets here' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(NeedsHuman, match="no secrets here"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)


async def test_a_push_that_meets_another_one_at_the_remote_is_tried_again(workspaces, origin, head):
    lock = origin.bare / "refs" / "heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    with pytest.raises(Retryable, match="changed during the push"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    lock.unlink()
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == head


async def test_a_branch_in_the_way_of_ours_is_for_people_to_remove(workspaces, origin, head):
    run_git(origin.bare, "update-ref", "refs/heads/treehand", "main")
    with pytest.raises(NeedsHuman, match="was refused"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)


async def test_nothing_is_pushed_once_the_lease_has_ended(workspaces, origin, head):
    def ended() -> None:
        raise Elsewhere

    workspaces.mirror.check_lease = ended
    with pytest.raises(Elsewhere):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == ""


async def test_ci_is_held_at_every_push_and_starts_only_at_an_approved_tip(workspaces, origin, head):
    def subject(commit: str) -> str:
        return run_git(origin.bare, "show", "--no-patch", "--format=%s", commit)

    for _ in range(2):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote, holds_ci=True)
    held = origin.tip(BRANCH)
    assert run_git(origin.bare, "rev-parse", f"{held}^", f"{held}^^{{tree}}").split() == [
        head, run_git(origin.bare, "rev-parse", f"{held}^{{tree}}"),
    ]  # fmt: skip
    assert "[skip ci]" in subject(held)

    for _ in range(2):
        await workspaces.ensure_ci_started(BRANCH, remote=origin.remote)
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote, holds_ci=True)
    started = origin.tip(BRANCH)
    assert (run_git(origin.bare, "rev-parse", f"{started}^"), "[skip ci]" in subject(started)) == (held, False)

    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "more.py").write_text("x\n")
    await workspaces.capture(BRANCH, message="More", at=2000)
    await workspaces.ensure_ci_started(BRANCH, remote=origin.remote)
    assert "[skip ci]" in subject(origin.tip(BRANCH)), "an approval covers no later commit"


async def test_commits_of_other_people_are_held_with_ours(workspaces, origin, head):
    origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote, holds_ci=True)
    tip = origin.tip(BRANCH)
    assert "[skip ci]" in run_git(origin.bare, "show", "--no-patch", "--format=%B", tip)
    assert len(run_git(origin.bare, "rev-parse", f"{tip}^^@").split()) == 2
