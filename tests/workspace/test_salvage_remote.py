"""Salvaged work at the remote: shared unless the guard objects, fetched again, and deleted after its retention."""

import shutil

import pytest

from bot.domain.remote import Remote
from bot.domain.salvage import KEPT_SECONDS, SalvageLocation
from bot.errors import NeedsHuman, Retryable
from bot.git.command import GitFailed
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import run_git

BRANCH = "treehand/shop-1"
SALVAGE = "refs/treehand/salvage/shop-1/1"
NOW = 1_700_000_000.0


@pytest.fixture
async def workspace(workspaces, origin):
    return await workspaces.ensure(BRANCH, base="", remote=origin.remote)


@pytest.fixture
async def salvaged(workspaces, workspace):
    (workspace.path / "half.py").write_text("unfinished\n")
    return await workspaces.salvage(BRANCH)


def theirs(origin) -> list[str]:
    return run_git(origin.bare, "for-each-ref", "--format=%(refname)", "refs/treehand").split()


async def test_salvaged_work_is_at_the_remote_under_the_same_name_and_in_any_clone_from_there(
    workspaces, origin, salvaged
):
    assert await workspaces.share(SALVAGE, remote=origin.remote) == SalvageLocation(SALVAGE, shared=True)
    assert await workspaces.share(SALVAGE, remote=origin.remote) == SalvageLocation(SALVAGE, shared=True)
    run_git(origin.clone, "fetch", "-q", "origin", f"{SALVAGE}:refs/heads/restored/shop-1")
    assert run_git(origin.clone, "show", "restored/shop-1:half.py") == "unfinished"


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [("CLAUDE.md", "Obey.\n", "protected path"), ("key.txt", "AKIA" + "Q3EGHJ7KLMNPR2ST\n", "secret")],
)
async def test_what_the_guard_objects_to_stays_on_this_machine(workspaces, origin, workspace, name, content, rule):
    (workspace.path / name).write_text(content)
    ref = await workspaces.salvage(BRANCH)

    kept = await workspaces.share(ref, remote=origin.remote)

    assert (kept.shared, rule in kept.why) == (False, True)
    assert theirs(origin) == []


async def test_a_remote_on_this_machine_is_not_written_to(workspaces, origin, salvaged):
    assert await workspaces.share(SALVAGE, remote=Remote(str(origin.bare), here=True)) == SalvageLocation(SALVAGE)
    assert theirs(origin) == []


async def test_other_work_under_that_name_stays_and_ours_gets_the_next(workspaces, origin, salvaged, mirror):
    run_git(origin.bare, "update-ref", SALVAGE, "refs/heads/main")
    ours = run_git(mirror, "rev-parse", SALVAGE)
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)

    kept = await workspaces.share(SALVAGE, remote=origin.remote)

    second = "refs/treehand/salvage/shop-1/2"
    assert kept == SalvageLocation(second, shared=True)
    assert run_git(origin.bare, "rev-parse", SALVAGE) == run_git(origin.bare, "rev-parse", "main")
    assert run_git(origin.bare, "rev-parse", second) == ours
    assert [(one.ref, one.at) for one in await workspaces.salvage_store.list()] == [(second, NOW)]


async def test_a_remote_that_refuses_or_is_away_says_so_and_nothing_is_noted(workspaces, origin, salvaged):
    run_git(origin.bare, "config", "transfer.hideRefs", "refs/treehand")
    with pytest.raises(NeedsHuman, match="rejected the push"):
        await workspaces.share(SALVAGE, remote=origin.remote)
    with pytest.raises((Retryable, NeedsHuman)):
        await workspaces.share(SALVAGE, remote=Remote(str(origin.bare) + "-gone"))
    assert [one.shared for one in await workspaces.salvage_store.list()] == [False]


async def test_where_all_is_lost_here_the_remote_still_has_it(workspaces, origin, salvaged, root):
    await workspaces.share(SALVAGE, remote=origin.remote)
    run_git(origin.bare, "update-ref", "refs/treehand/salvage/../odd".replace("..", "x"), "refs/heads/main")
    shutil.rmtree(root)

    fresh = GitWorkspaces(root, "shop")
    await fresh.salvage_store.fetch(remote=origin.remote)
    await fresh.salvage_store.fetch(remote=origin.remote)

    (one,) = await fresh.salvage_store.list()
    assert (one.ref, one.shared, one.at, one.files) == (SALVAGE, True, 0.0, 1)


async def test_its_time_begins_when_it_is_first_seen_and_does_not_begin_again(workspaces, salvaged):
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)
    (one,) = await workspaces.salvage_store.list()
    assert one.at == NOW
    assert not one.is_over(NOW + KEPT_SECONDS)
    assert one.is_over(NOW + KEPT_SECONDS + 1)


async def test_what_is_let_go_is_gone_at_both_ends(workspaces, origin, salvaged, mirror):
    await workspaces.share(SALVAGE, remote=origin.remote)
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)
    (one,) = await workspaces.salvage_store.list()
    await workspaces.salvage_store.delete(one, remote=origin.remote)
    assert await workspaces.salvage_store.list() == ()
    assert theirs(origin) == []
    kept = run_git(mirror, "for-each-ref", "--format=%(refname)", "refs/treehand").split()
    assert kept == [f"refs/treehand/base/{BRANCH}"]


async def test_what_somebody_removed_or_changed_at_the_remote_does_not_keep_it_here(workspaces, origin, salvaged):
    await workspaces.share(SALVAGE, remote=origin.remote)
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)
    (one,) = await workspaces.salvage_store.list()
    run_git(origin.bare, "update-ref", SALVAGE, "refs/heads/main")
    await workspaces.salvage_store.delete(one, remote=origin.remote)
    assert theirs(origin) == [SALVAGE], "it is not ours any more"
    assert await workspaces.salvage_store.list() == ()


async def test_what_is_asked_for_in_this_moment_is_not_let_go(workspaces, salvaged):
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)
    (one,) = await workspaces.salvage_store.list()
    salvage_store = workspaces.salvage_store
    forgotten = salvage_store._mirror.refs

    def restored_meanwhile(*names):
        found = forgotten(*names)
        if names == ("refs/treehand/shared/shop-1/1",):
            from bot.workspace.salvage import record_dates

            record_dates(salvage_store._mirror, NOW + 99, SALVAGE)
        return found

    salvage_store._mirror.refs = restored_meanwhile
    with pytest.raises(GitFailed):
        await salvage_store.delete(one, remote=None)
    salvage_store._mirror.refs = forgotten
    assert [(left.ref, left.at) for left in await salvage_store.list()] == [(SALVAGE, NOW + 99)]


async def test_ten_of_one_run_are_in_their_order(workspaces, workspace):
    for number in range(11):
        (workspace.path / "half.py").write_text(f"{number}\n")
        await workspaces.salvage(BRANCH)
    assert [one.order[1] for one in await workspaces.salvage_store.list()] == list(range(1, 12))
