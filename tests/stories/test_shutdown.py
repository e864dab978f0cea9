"""Shutdown, and services that do not respond: nothing is published from stale data, and no run waits for ever."""

import asyncio

import pytest

from bot.domain.comment import Remark
from bot.domain.run import Phase
from bot.errors import NeedsHuman, Retryable

KEY = "shop#1"


@pytest.fixture
async def working(bot, world):
    world.open_issue(KEY, "ai")
    await bot.tick()
    return bot


def tracker_of(bot):
    return bot.engine.ports.projects["shop"].tracker


async def remembering(bot, monkeypatch):
    """Caches reads from now on and returns them to reads that are not fresh."""
    look, known = tracker_of(bot).snapshot, await tracker_of(bot).snapshot([KEY])

    async def remembered(keys, *, poll=None):
        return await look(keys) if poll.fresh else known

    monkeypatch.setattr(tracker_of(bot), "snapshot", remembered)


async def test_a_turn_that_ends_during_the_shutdown_is_not_published_from_cached_data(working, world, monkeypatch):
    await remembering(working, monkeypatch)
    world.finish_turn(KEY)
    world.unlabel(KEY, "ai")
    await working.engine.park()
    assert (world.branches, world.pulls) == ({}, {})


async def test_a_shutdown_without_interrupted_runs_sends_no_requests(working, world):
    world.finish_turn(KEY)
    await working.tick()
    world.fails["tracker.snapshot"] = Retryable("No answer.")
    await working.engine.park()
    assert working.run(KEY).phase is Phase.REVIEW
    assert not working.engine.failed_projects


async def test_news_that_comes_during_a_poll_causes_another_poll(working, world, monkeypatch):
    asked, look = [], tracker_of(working).snapshot

    async def interrupted(keys, *, poll=None):
        view = await look(keys)
        if not asked:
            working.engine.expect_news(["shop"])
        asked.append(poll.fresh)
        return view

    monkeypatch.setattr(tracker_of(working), "snapshot", interrupted)
    working.engine.expect_news()
    for _ in range(3):
        await working.engine.tick()
        await working.engine.wait_until_idle()
    assert asked == [True, True, False]


async def test_a_waiting_review_of_an_unreachable_service_does_not_keep_the_engine_open(working, world):
    world.finish_turn(KEY)
    await working.tick()
    world.review(KEY, Remark("app.py", 1, "why?", id="i1"))
    await working.tick()
    assert working.engine.may_go_on()
    world.fails["forge.snapshot"] = NeedsHuman("There is no such repository.")
    await working.wait(120)
    assert not working.engine.may_go_on()

    world.fails.clear()
    await working.tick()
    assert working.run(KEY).phase is Phase.WORKING


async def test_an_action_that_is_not_done_in_time_is_left_for_the_next_start(working, world, monkeypatch):
    tracker, begun = tracker_of(working), asyncio.Event()

    async def never(*_, **__):
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(tracker, "ensure_comment", never)
    world.comment(KEY, "/ai status")
    await working.engine.tick()
    await begun.wait()
    working.engine.abandon()
    async with asyncio.timeout(5):
        await working.engine.__aexit__(None, None, None)
    assert working.run(KEY).comments == ()
