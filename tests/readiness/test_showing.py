"""A server in a run's worktree: it is up for as long as there is something to look at."""

import asyncio

import pytest

from bot.domain.setup_plan import Step
from bot.errors import NeedsHuman
from bot.setup.run_server import Stage, marker_for, show
from bot.system.processes import end_family, family
from tests.readiness.conftest import BRANCH, HOUSE

MARKER = marker_for(HOUSE, BRANCH)
SLEEPS = Step("echo up; sleep 300 & sleep 300")


async def stage_in(shop) -> Stage:
    ground = (await shop.worktree()).ground
    return Stage(BRANCH, ground, shop.root / "show", None, shop.means.blocks.block_for(ground.folder), MARKER)


@pytest.fixture(autouse=True)
async def nothing_stays():
    yield
    await end_family(MARKER.__eq__)


def living() -> int:
    return len(family(MARKER.__eq__))


async def test_it_is_ended_when_what_it_shows_is_over(shop):
    heard: list[bytes] = []
    async with asyncio.timeout(60):
        ended = await show(
            await stage_in(shop),
            SLEEPS,
            shop.sandbox,
            begun=lambda: None,
            heard=heard.append,
            is_over=lambda: bool(heard),
        )
    assert (ended, heard[0]) == (None, b"up\n")
    assert living() == 0
    assert not (shop.root / "show").exists()


async def test_teardown_ends_it_first(shop):
    up = asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        stage = await stage_in(shop)
        showing = group.create_task(
            show(stage, SLEEPS, shop.sandbox, begun=lambda: None, heard=lambda _: up.set(), is_over=lambda: False)
        )
        await up.wait()
        await shop.readiness.tear_down(BRANCH)
        assert living() == 0
    assert showing.result().code is None


async def test_two_of_one_worktree_are_not_up_at_once(shop):
    up = asyncio.Event()
    stage = await stage_in(shop)
    quiet = {"begun": lambda: None, "is_over": lambda: False}
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        first = group.create_task(show(stage, SLEEPS, shop.sandbox, heard=lambda _: up.set(), **quiet))
        await up.wait()
        with pytest.raises(NeedsHuman, match="one is up at a time"):
            await show(stage, SLEEPS, shop.sandbox, heard=lambda _: None, **quiet)
        assert stage.home.is_dir(), "the first one's is left alone"
        first.cancel()
    assert not stage.home.exists()


async def test_nor_is_one_where_somebody_else_has_its_port(shop):
    stage = await stage_in(shop)
    stage.home.mkdir()
    with pytest.raises(NeedsHuman, match="in use"):
        async with shop.sandbox.open_trial(stage.ground, stage.home, None, "other", ports=stage.ports):
            await show(stage, SLEEPS, shop.sandbox, begun=lambda: None, heard=lambda _: None, is_over=lambda: False)
