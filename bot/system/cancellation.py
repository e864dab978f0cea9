"""Finishes work before a cancellation takes effect."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_MOST_SECONDS = 20.0
"""An agent may have made a worktree that takes minutes to read. Then the cancellation takes effect before the end."""


async def finish_first(work: Coroutine[Any, Any, T], *, once: Callable[[], bool] = lambda: True) -> T:
    """Returns the result of the work although the caller is cancelled meanwhile; `is_cancelled` tells that afterwards.

    A cancellation that comes before `once()` is true cancels the work, and so does one that it outlives by 20 seconds.
    """
    task = asyncio.create_task(work)  # noqa: TID251 - this function waits for its end
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            asyncio.get_running_loop().call_later(_MOST_SECONDS if once() else 0, task.cancel)
    return task.result()


def is_cancelled() -> bool:
    """Returns True if this task was cancelled, even if `finish_first` has held the cancellation back."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
