"""A server in a run's worktree runs until it, the run or the worktree ends."""

import asyncio

import pytest

from bot.domain.setup_plan import SetupStep
from bot.errors import NeedsHuman
from bot.setup.run_server import ServerJob, run_server, server_marker
from bot.system.processes import end_processes, find_processes
from tests.setup.conftest import BRANCH, MARKER_PREFIX

MARKER = server_marker(MARKER_PREFIX, BRANCH)
SLEEPS = SetupStep("echo up; sleep 300 & sleep 300")


async def job_in(shop) -> ServerJob:
    ground = (await shop.worktree()).mounts
    return ServerJob(
        BRANCH, ground, shop.root / "show", None, shop.resources.port_blocks.allocate(ground.folder), MARKER
    )


@pytest.fixture(autouse=True)
async def nothing_stays():
    yield
    await end_processes(MARKER.__eq__)


def living() -> int:
    return len(find_processes(MARKER.__eq__))


async def test_a_server_is_ended_when_its_run_is_over(shop):
    output: list[bytes] = []
    async with asyncio.timeout(60):
        ended = await run_server(
            await job_in(shop),
            SLEEPS,
            shop.sandbox,
            on_ready=lambda: None,
            on_output=output.append,
            is_over=lambda: bool(output),
        )
    assert (ended, output[0]) == (None, b"up\n")
    assert living() == 0
    assert not (shop.root / "show").exists()


async def test_a_server_that_is_cancelled_while_it_starts_leaves_no_process(shop, monkeypatch):
    original = asyncio.create_subprocess_exec

    async def cancelled_after_the_start(*words, **more):
        await original(*words, **more)
        while living() < 2:
            await asyncio.sleep(0.01)
        raise asyncio.CancelledError

    job = await job_in(shop)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", cancelled_after_the_start)
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await run_server(
                job, SLEEPS, shop.sandbox, on_ready=lambda: None, on_output=lambda _: None, is_over=lambda: False
            )
    assert living() == 0


async def test_teardown_ends_the_server_first(shop):
    up = asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        job = await job_in(shop)
        serving = group.create_task(
            run_server(
                job, SLEEPS, shop.sandbox, on_ready=lambda: None, on_output=lambda _: up.set(), is_over=lambda: False
            )
        )
        await up.wait()
        await shop.project_setup.tear_down(BRANCH)
        assert living() == 0
    assert serving.result().code in {None, 143}, "its shell may still have reported the signal"


@pytest.mark.attack("T20", "A server of the agent's work changes files while a turn begins")
async def test_the_next_turn_ends_the_server_first(shop):
    up = asyncio.Event()
    quiet = {"on_ready": lambda: None, "is_over": lambda: False}
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        job = await job_in(shop)
        group.create_task(run_server(job, SLEEPS, shop.sandbox, on_output=lambda _: up.set(), **quiet))
        await up.wait()
        await shop.ready()
        assert living() == 0


async def test_a_worktree_has_one_server_at_a_time(shop):
    up = asyncio.Event()
    job = await job_in(shop)
    quiet = {"on_ready": lambda: None, "is_over": lambda: False}
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        first = group.create_task(run_server(job, SLEEPS, shop.sandbox, on_output=lambda _: up.set(), **quiet))
        await up.wait()
        with pytest.raises(NeedsHuman, match="can have only one"):
            await run_server(job, SLEEPS, shop.sandbox, on_output=lambda _: None, **quiet)
        assert job.home.is_dir(), "the first one's is left alone"
        first.cancel()
    assert not job.home.exists()


async def test_a_server_does_not_start_if_its_port_is_in_use(shop):
    job = await job_in(shop)
    job.home.mkdir()
    with pytest.raises(NeedsHuman, match="in use"):
        async with shop.sandbox.open_test(job.mounts, job.home, None, "other", ports=job.ports):
            await run_server(
                job, SLEEPS, shop.sandbox, on_ready=lambda: None, on_output=lambda _: None, is_over=lambda: False
            )
