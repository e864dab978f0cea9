"""A branch is pushed once, and never over commits of others."""

import shutil

import pytest

from bot.errors import Elsewhere, NeedsHuman, NeedsTurn, Retryable
from bot.workspace.push import push_ref_as
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"


@pytest.fixture
async def head(workspaces, origin):
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "new.py").write_text("x\n")
    return (await workspaces.capture(BRANCH, message="New", at=1000)).head


async def test_a_repeated_push_changes_nothing(workspaces, origin, head):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == head


async def test_a_push_that_was_not_recorded_is_recognized(workspaces, origin, head, mirror):
    run_git(mirror, "push", "-q", str(origin.bare), f"{head}:refs/heads/{BRANCH}")
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert run_git(mirror, "rev-parse", f"refs/treehand/pushed/{BRANCH}") == head


async def test_commits_of_other_people_are_merged_and_never_overwritten(workspaces, origin, head):
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert set(run_git(origin.bare, "rev-parse", f"{BRANCH}^@").split()) == {head, theirs}


async def test_fetched_commits_of_other_people_are_merged_and_never_overwritten(workspaces, origin, head):
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure("treehand/shop-2", base="", remote=origin.remote)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert set(run_git(origin.bare, "rev-parse", f"{BRANCH}^@").split()) == {head, theirs}


async def test_conflicting_commits_of_other_people_stay_unchanged(workspaces, origin, head):
    theirs = origin.commit({"new.py": "theirs\n"}, branch=BRANCH)
    with pytest.raises(NeedsTurn, match="Somebody else has pushed"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == theirs


async def test_commits_on_top_of_ours_leave_nothing_to_push(workspaces, origin, head):
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    theirs = origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == theirs


async def test_a_commit_lost_with_the_mirror_needs_another_turn(workspaces, origin, head, mirror):
    shutil.rmtree(mirror)
    with pytest.raises(NeedsTurn, match="was lost"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    workspace = await workspaces.ensure(BRANCH, base="", remote=origin.remote)
    (workspace.path / "new.py").write_text("x\n")
    made = await workspaces.capture(BRANCH, message="New", at=1000)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == made.head == head


async def test_a_refused_push_reports_the_message_of_the_remote(workspaces, origin, head):
    hook = origin.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no secrets here' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(NeedsHuman, match="no secrets here"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)


async def test_a_push_that_collides_with_another_is_retried(workspaces, origin, head):
    lock = origin.bare / "refs" / "heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    with pytest.raises(Retryable, match="changed during the push"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    lock.unlink()
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == head


async def test_a_branch_that_blocks_our_branch_name_needs_a_person(workspaces, origin, head):
    run_git(origin.bare, "update-ref", "refs/heads/treehand", "main")
    with pytest.raises(NeedsHuman, match="was refused"):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)


async def test_nothing_is_pushed_after_the_lease_has_ended(workspaces, origin, head):
    def ended() -> None:
        raise Elsewhere

    workspaces.mirror.check_lease = ended
    with pytest.raises(Elsewhere):
        await workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert origin.tip(BRANCH) == ""


async def test_ci_is_skipped_at_every_push_and_starts_only_for_an_approved_commit(workspaces, origin, head):
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


@pytest.mark.attack("T8", "Salvaged work that nobody has looked at starts workflows when it is restored")
async def test_t8_restored_work_starts_no_workflow_if_ci_waits_for_an_approval(workspaces, origin, head):
    held, at_once = [
        push_ref_as(workspaces.mirror, f"refs/heads/{BRANCH}", name, origin.remote, holds_ci=name == "restored/held")
        for name in ("restored/held", "restored/at-once")
    ]
    again = push_ref_as(workspaces.mirror, f"refs/heads/{BRANCH}", held, origin.remote, holds_ci=True)
    assert (held, at_once, again) == ("restored/held", "restored/at-once", "restored/held")
    assert "[skip ci]" in run_git(origin.bare, "show", "--no-patch", "--format=%B", origin.tip(held))
    assert run_git(origin.bare, "rev-parse", f"{origin.tip(held)}^") == origin.tip(at_once) == head


async def test_commits_of_other_people_skip_ci_together_with_ours(workspaces, origin, head):
    origin.commit({"theirs.py": "x\n"}, branch=BRANCH)
    await workspaces.ensure_pushed(BRANCH, remote=origin.remote, holds_ci=True)
    tip = origin.tip(BRANCH)
    assert "[skip ci]" in run_git(origin.bare, "show", "--no-patch", "--format=%B", tip)
    assert len(run_git(origin.bare, "rev-parse", f"{tip}^^@").split()) == 2
