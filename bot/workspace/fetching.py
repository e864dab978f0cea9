"""Fetching for many at once: one fetch serves everybody who was waiting when it began."""

import asyncio
from dataclasses import dataclass, field

from bot.domain.remote import Remote
from bot.git.in_thread import in_thread
from bot.workspace.mirror import Mirror


@dataclass(slots=True)
class Fetching:
    mirror: Mirror
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    _begun: int = 0
    _ended: int = 0

    async def __call__(self, remote: Remote) -> None:
        wanted = self._begun + 1
        async with self.alone:
            if self._ended >= wanted:
                return
            self._begun += 1
            await in_thread(self.mirror.fetch, remote)
            self._ended = self._begun
