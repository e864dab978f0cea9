"""Calls that block, in threads that are left behind when the process ends: an answer may never come."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Threads:
    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, function: Callable[[], T]) -> T:
        """Cancelled, it is waited for no longer; it goes on all the same."""
        answer: Future[T] = Future()
        async with self._free:
            threading.Thread(target=_work, args=(function, answer), name="github", daemon=True).start()
            return await asyncio.wrap_future(answer)


def _work(function: Callable[[], T], answer: Future[T]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(function())
    except BaseException as exc:  # noqa: BLE001 - whoever waits for it is told
        answer.set_exception(exc)
