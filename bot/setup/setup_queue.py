"""Setup queue: decides who may write to the shared downloads, and lets setup of the pool give way to that of a run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class SetupQueue:
    """Lets one setup at a time write to the shared downloads; setup of the pool gives way to that of a run."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _pool_job: asyncio.Timeout | None = None
    """Time limit of the running pool setup: set to now when a run needs its place."""

    @asynccontextmanager
    async def exclusively(self, *, is_ahead: bool) -> AsyncIterator[None]:
        if self._pool_job and not is_ahead:
            self._pool_job.reschedule(asyncio.get_running_loop().time())
        async with self._lock:
            yield

    @asynccontextmanager
    async def give_way(self) -> AsyncIterator[None]:
        """Raises TimeoutError as soon as a run needs setup."""
        if self._lock.locked():
            raise TimeoutError
        async with asyncio.timeout(None) as deadline:
            self._pool_job = deadline
            try:
                yield
            finally:
                self._pool_job = None
