"""Salvaged work at the remote: shared unless the publish guard objects, fetched again, deleted after its retention."""

import shutil

import pytest

from bot.domain.remote import Remote
from bot.domain.salvage import RETENTION_SECONDS, SalvageLocation
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


async def test_shared_salvage_has_the_same_name_at_the_remote_and_can_be_fetched(workspaces, origin, salvaged):
    assert await workspaces.share(SALVAGE, remote=origin.remote) == SalvageLocation(SALVAGE, shared=True)
    assert await workspaces.share(SALVAGE, remote=origin.remote) == SalvageLocation(SALVAGE, shared=True)
    run_git(origin.clone, "fetch", "-q", "origin", f"{SALVAGE}:refs/heads/restored/shop-1")
    assert run_git(origin.clone, "show", "restored/shop-1:half.py") == "unfinished"


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [("CLAUDE.md", "Obey.\n", "protected path"), ("key.txt", "AKIA" + "Q3EGHJ7KLMNPR2ST\n", "secret")],
)
async def test_salvage_that_the_publish_guard_blocks_stays_on_this_machine(
    workspaces, origin, workspace, name, content, rule
):
    (workspace.path / name).write_text(content)
    ref = await workspaces.salvage(BRANCH)

    kept = await workspaces.share(ref, remote=origin.remote)

    assert (kept.shared, rule in kept.why) == (False, True)
    assert theirs(origin) == []


async def test_a_remote_on_this_machine_is_not_written_to(workspaces, origin, salvaged):
    assert await workspaces.share(SALVAGE, remote=Remote(str(origin.bare), here=True)) == SalvageLocation(SALVAGE)
    assert theirs(origin) == []


async def test_salvage_gets_the_next_number_if_the_name_is_taken_at_the_remote(workspaces, origin, salvaged, mirror):
    run_git(origin.bare, "update-ref", SALVAGE, "refs/heads/main")
    ours = run_git(mirror, "rev-parse", SALVAGE)
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)

    kept = await workspaces.share(SALVAGE, remote=origin.remote)

    second = "refs/treehand/salvage/shop-1/2"
    assert kept == SalvageLocation(second, shared=True)
    assert run_git(origin.bare, "rev-parse", SALVAGE) == run_git(origin.bare, "rev-parse", "main")
    assert run_git(origin.bare, "rev-parse", second) == ours
    assert [(one.ref, one.at) for one in await workspaces.salvage_store.list()] == [(second, NOW)]


async def test_a_remote_that_refuses_or_is_unreachable_is_reported_and_not_recorded(workspaces, origin, salvaged):
    run_git(origin.bare, "config", "transfer.hideRefs", "refs/treehand")
    with pytest.raises(NeedsHuman, match="rejected the push"):
        await workspaces.share(SALVAGE, remote=origin.remote)
    with pytest.raises((Retryable, NeedsHuman)):
        await workspaces.share(SALVAGE, remote=Remote(str(origin.bare) + "-gone"))
    assert [one.shared for one in await workspaces.salvage_store.list()] == [False]


async def test_salvage_can_be_fetched_from_the_remote_after_local_loss(workspaces, origin, salvaged, root):
    await workspaces.share(SALVAGE, remote=origin.remote)
    run_git(origin.bare, "update-ref", "refs/treehand/salvage/../odd".replace("..", "x"), "refs/heads/main")
    shutil.rmtree(root)

    fresh = GitWorkspaces(root, "shop")
    await fresh.salvage_store.fetch(remote=origin.remote)
    await fresh.salvage_store.fetch(remote=origin.remote)

    (one,) = await fresh.salvage_store.list()
    assert (one.ref, one.shared, one.at, one.files) == (SALVAGE, True, 0.0, 1)


async def test_the_retention_of_salvage_starts_once(workspaces, salvaged):
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)
    (one,) = await workspaces.salvage_store.list()
    assert one.at == NOW
    assert not one.is_over(NOW + RETENTION_SECONDS)
    assert one.is_over(NOW + RETENTION_SECONDS + 1)


async def test_deleted_salvage_is_gone_locally_and_at_the_remote(workspaces, origin, salvaged, mirror):
    await workspaces.share(SALVAGE, remote=origin.remote)
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)
    (one,) = await workspaces.salvage_store.list()
    await workspaces.salvage_store.delete(one, remote=origin.remote)
    assert await workspaces.salvage_store.list() == ()
    assert theirs(origin) == []
    kept = run_git(mirror, "for-each-ref", "--format=%(refname)", "refs/treehand").split()
    assert kept == [f"refs/treehand/base/{BRANCH}"]


async def test_salvage_is_deleted_locally_even_if_people_changed_it_at_the_remote(workspaces, origin, salvaged):
    await workspaces.share(SALVAGE, remote=origin.remote)
    await workspaces.salvage_store.restart_retention([SALVAGE], now=NOW)
    (one,) = await workspaces.salvage_store.list()
    run_git(origin.bare, "update-ref", SALVAGE, "refs/heads/main")
    await workspaces.salvage_store.delete(one, remote=origin.remote)
    assert theirs(origin) == [SALVAGE], "it is not ours any more"
    assert await workspaces.salvage_store.list() == ()


async def test_salvage_that_is_being_restored_is_not_deleted(workspaces, salvaged):
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


async def test_ten_salvages_of_one_run_are_listed_in_order(workspaces, workspace):
    for number in range(11):
        (workspace.path / "half.py").write_text(f"{number}\n")
        await workspaces.salvage(BRANCH)
    assert [one.order[1] for one in await workspaces.salvage_store.list()] == list(range(1, 12))
