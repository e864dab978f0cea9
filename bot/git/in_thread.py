"""Runs blocking git and disk work in a thread and translates its errors.

Rule: a cancelled call still waits for its thread, because nothing else may touch the same files. What the thread itself
waits for with `ending_with_this_call` is ended at once, so that the wait is short.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from bot.errors import DiskFull, Retryable
from bot.git.command import GitFailed
from bot.system.disk import full_disk_text, is_full_disk

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_MOST_THREADS = 64

T = TypeVar("T")
P = ParamSpec("P")


class _Call:
    """One call and the processes that end with it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._endings: list[Callable[[], None]] = []
        self.is_cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            for end in self._endings:
                end()

    def add(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._endings.append(end)
            if self.is_cancelled:
                end()

    def remove(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._endings.remove(end)


@cache
def _threads() -> "ThreadPoolExecutor":
    """More than there are slots: most of them wait for a child process, and a call that ends a run waits for none."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_MOST_THREADS, "git")


os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has none of these threads

_call: ContextVar[_Call | None] = ContextVar("call", default=None)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Waits for the thread even when cancelled."""
    import asyncio  # not in child processes, which use the rest of this module

    call, context = _Call(), copy_context()
    context.run(_call.set, call)
    work = partial(_translate_errors, function, *args, **kwargs)
    working = asyncio.get_running_loop().run_in_executor(_threads(), context.run, work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        call.cancel()
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        working.exception()  # the result of a cancelled call is ignored
        raise


@contextlib.contextmanager
def ending_with_this_call(end: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Calls `end` if the surrounding `in_thread` is cancelled. Yields whether it was."""
    call = _call.get()
    if call is None:
        yield lambda: False
        return
    call.add(end)
    try:
        yield lambda: call.is_cancelled
    finally:
        call.remove(end)


def _translate_errors(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return function(*args, **kwargs)
    except GitFailed as exc:
        if exc.disk_is_full:
            raise _disk_full(exc) from exc
        raise
    except OSError as exc:
        raise (_disk_full(exc) if is_full_disk(exc) else Retryable(f"The workspace cannot be used: {exc}")) from exc


def _disk_full(problem: Exception) -> DiskFull:
    return DiskFull(f"{full_disk_text(problem)}; the run continues by itself.")
