"""Finishes work before a cancellation takes effect."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_first(work: Coroutine[Any, Any, T], *, once: Callable[[], bool] = lambda: True) -> T:
    """Returns the result of the work although the caller is cancelled meanwhile; `is_cancelled` tells that afterwards.

    A cancellation that comes before `once()` is true cancels the work.
    """
    task = asyncio.create_task(work)  # noqa: TID251 - this function waits for its end
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            if not once():
                task.cancel()
    return task.result()


def is_cancelled() -> bool:
    """Returns True if this task was cancelled, even if `finish_first` has held the cancellation back."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
