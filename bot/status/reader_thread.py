"""Reads the status in a thread of its own, so that the daemon's loop does not wait for a growing database.

Rule: it opens its own connections, and writes nothing.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from bot.settings.schema import Settings
from bot.status.health import HealthReader
from bot.store.build import open_store

T = TypeVar("T")


@dataclass(slots=True)
class StatusReader:
    settings: Settings
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "reading"))
    _health: HealthReader | None = None
    """Opened at the first read; used by the thread alone."""

    async def read(self, query: Callable[[HealthReader], T]) -> T:
        """Raises the query's errors, and CannotStart when the database cannot be opened."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, query)

    def close(self) -> None:
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _read(self, query: Callable[[HealthReader], T]) -> T:
        if self._health is None:
            self._health = self._open()
        return query(self._health)

    def _open(self) -> HealthReader:
        store = open_store(self.settings)
        try:
            return HealthReader.open(self.settings, store)
        except BaseException:
            store.close()
            raise

    def _close(self) -> None:
        if self._health is not None:
            self._health.close()
            self._health.store.close()
