"""Shutdown, and services that do not answer: nothing is published blindly, and no run waits for ever."""

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
    """Caches what was read from now on, and returns it to reads that are not fresh."""
    look, known = tracker_of(bot).snapshot, await tracker_of(bot).snapshot([KEY])

    async def remembered(keys, *, fresh=True):
        return await look(keys) if fresh else known

    monkeypatch.setattr(tracker_of(bot), "snapshot", remembered)


async def test_a_turn_that_ends_as_we_go_down_is_not_published_by_what_we_remember(working, world, monkeypatch):
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


async def test_news_that_comes_while_we_look_is_looked_at_anew(working, world, monkeypatch):
    asked, look = [], tracker_of(working).snapshot

    async def interrupted(keys, *, fresh=True):
        view = await look(keys)
        if not asked:
            working.engine.expect_news(["shop"])
        asked.append(fresh)
        return view

    monkeypatch.setattr(tracker_of(working), "snapshot", interrupted)
    working.engine.expect_news()
    for _ in range(3):
        await working.engine.tick()
        await working.engine.wait_until_idle()
    assert asked == [True, True, False]


async def test_a_review_that_waits_for_quiet_keeps_nobody_waiting_once_its_service_is_gone(working, world):
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


async def test_what_cannot_be_carried_out_in_time_is_left_for_the_next_life(working, world, monkeypatch):
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
