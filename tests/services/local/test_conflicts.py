"""The local forge detects conflicts of a pull request."""

import pytest

from bot.domain.pull_request import PullRequest
from bot.errors import NeedsHuman
from bot.services.local.forge import LocalForge
from tests.services.local.user_repository import BRANCH, commit


@pytest.fixture
def forge(shop):
    shop.number = shop.offer({"app.py": "one\nours\nthree\n"})
    return LocalForge(shop.another_desk(), "shop")


async def seen(forge) -> PullRequest:
    return (await forge.snapshot([BRANCH])).pulls[BRANCH]


async def test_a_base_that_changed_other_lines_is_no_conflict(forge, shop):
    commit(shop.theirs, {"README.md": "# The shop\n"})
    await forge.remote()
    assert not (await seen(forge)).conflicts


async def test_a_base_that_changed_the_same_lines_is_a_conflict_until_it_is_resolved(forge, shop):
    commit(shop.theirs, {"app.py": "one\ntheirs\nthree\n"})
    await forge.remote()
    assert (await seen(forge)).conflicts
    assert (await seen(forge)).conflicts

    commit(shop.theirs, {"app.py": "one\nours\nthree\n"})
    await forge.remote()
    assert not (await seen(forge)).conflicts


async def test_a_merge_refused_for_conflicts_reports_them(forge, shop):
    commit(shop.theirs, {"app.py": "one\ntheirs\nthree\n"})
    with pytest.raises(NeedsHuman, match=r"conflicts with the base branch in app\.py"):
        shop.server.merger("shop").merge(shop.number, by="ana")
    assert (await seen(forge)).conflicts


async def test_a_closed_pull_request_has_no_conflicts(forge, shop):
    commit(shop.theirs, {"app.py": "one\ntheirs\nthree\n"})
    await forge.remote()
    shop.pulls.close(shop.number, by="ana")
    assert not (await seen(forge)).conflicts
