"""Reads at length beside the daemon's loop: in a thread of its own, with what it opened there.

Rule: whatever takes longer the more has happened is read here; nothing is written.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from bot.app import store_of
from bot.settings import Settings
from bot.status.snapshot import House

T = TypeVar("T")


@dataclass(slots=True)
class Reader:
    settings: Settings
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "reading"))
    _house: House | None = None
    """Opened when something is read for the first time; of the thread alone."""

    async def read(self, look: Callable[[House], T]) -> T:
        """Raises what the look raises, and CannotStart when there is nothing to look at."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, look)

    def close(self) -> None:
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _read(self, look: Callable[[House], T]) -> T:
        if self._house is None:
            self._house = self._opened()
        return look(self._house)

    def _opened(self) -> House:
        store = store_of(self.settings)
        try:
            return House.open(self.settings, store)
        except BaseException:
            store.close()
            raise

    def _close(self) -> None:
        if self._house is not None:
            self._house.close()
            self._house.store.close()
