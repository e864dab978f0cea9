import asyncio

import pytest

from bot.system import cancellation
from bot.system.cancellation import finish_first, is_cancelled


async def test_work_that_was_begun_ends_before_a_cancellation_takes_effect():
    ended = []

    async def work() -> str:
        await asyncio.sleep(0.01)
        ended.append("work")
        return "result"

    async def caller() -> bool:
        assert await finish_first(work()) == "result"
        return is_cancelled()

    task = asyncio.create_task(caller())
    await asyncio.sleep(0)
    task.cancel()
    assert await task
    assert ended == ["work"]


async def test_work_that_outlives_a_cancellation_is_cancelled(monkeypatch):
    monkeypatch.setattr(cancellation, "_MOST_SECONDS", 0.01)
    task = asyncio.create_task(finish_first(asyncio.sleep(3600)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)


async def test_work_that_may_be_cancelled_is_cancelled_at_once(monkeypatch):
    monkeypatch.setattr(cancellation, "_MOST_SECONDS", 3600)
    task = asyncio.create_task(finish_first(asyncio.sleep(3600), once=lambda: False))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
