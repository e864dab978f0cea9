"""Who sets up now: one at a time writes to the downloads that runs share, and what is made ahead gives way to runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Precedence:
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    _ahead: asyncio.Timeout | None = None
    """Of what is being made ahead: brought to an end when a run wants its place."""

    @asynccontextmanager
    async def alone(self, *, is_ahead: bool) -> AsyncIterator[None]:
        if self._ahead and not is_ahead:
            self._ahead.reschedule(asyncio.get_running_loop().time())
        async with self._alone:
            yield

    @asynccontextmanager
    async def behind(self) -> AsyncIterator[None]:
        """As long as no run needs it. TimeoutError: one does."""
        if self._alone.locked():
            raise TimeoutError
        async with asyncio.timeout(None) as leave:
            self._ahead = leave
            try:
                yield
            finally:
                self._ahead = None
