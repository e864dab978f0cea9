"""Work that git and the disk keep waiting is done in a thread, and its trouble is told in our words."""

import asyncio
import contextlib
import errno
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from bot.errors import Retryable
from bot.git.command import GitFailed

_FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT}
_FULL = "The disk is full. Make room, and I go on."

T = TypeVar("T")
P = ParamSpec("P")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Cancelled, it still waits for the thread: nothing else may touch what that is working on."""
    working = asyncio.get_running_loop().run_in_executor(None, partial(_in_our_words, function, *args, **kwargs))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        raise


def _in_our_words(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return function(*args, **kwargs)
    except GitFailed as exc:
        if exc.disk_is_full:
            raise Retryable(_FULL) from exc
        raise
    except OSError as exc:
        raise Retryable(_FULL if exc.errno in _FULL_ERRORS else f"The workspace cannot be used: {exc}") from exc
