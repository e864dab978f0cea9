"""Keeps a sandbox within its tokens, though the price of an answer is known only when it has been given.

A request in flight holds what it may cost at most. Where that does not fit any more, requests go one at a time: so
many at once cannot overshoot together, and the last part of a budget is not lost to a generous `max_tokens`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.sandbox.proxy.grant import Passage, Refusal
from bot.sandbox.proxy.token_usage import Usage

USED_UP = "The token budget of this run is used up."


@dataclass(slots=True)
class Bill:
    """What one request holds, and what becomes of it."""

    input: int
    output: int
    usage: Usage | None = None
    is_excused: bool = False
    """It failed at the service: what was never told then is not the sandbox's doing."""

    @property
    def held(self) -> int:
        return self.input + self.output

    @property
    def untold(self) -> int:
        """What it may have cost beyond what was told. A token is never less than a byte of the answer."""
        if self.is_excused or (self.usage and self.usage.is_final):
            return 0
        if self.usage is None:
            return self.held
        output = min(self.output, self.usage.bytes) if self.usage.is_whole else self.output
        return max(0, self.input + output - self.usage.tokens)


@dataclass(slots=True)
class Meter:
    most: int
    passage: Passage
    _held: int = 0
    _in_flight: int = 0
    _owed: int = 0
    """Never told, as after hanging up half-way: it counts in full, or hanging up would be free."""
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def holding(self, bill: Bill) -> AsyncIterator[None]:
        """Raises Refusal when the tokens are used up."""
        while self._in_flight and not self._fits(bill) and not self._is_over(bill):
            self._settled.clear()
            await self._settled.wait()
        if self._is_over(bill):
            self.passage.is_exhausted = True
            raise Refusal(429, USED_UP)
        self._held += bill.held
        self._in_flight += 1
        try:
            yield
        finally:
            self._settle(bill)

    def _is_over(self, bill: Bill) -> bool:
        return bool(self.most) and self.passage.tokens + self._owed + bill.input >= self.most

    def _fits(self, bill: Bill) -> bool:
        return not self.most or self.passage.tokens + self._owed + self._held + bill.held <= self.most

    def _settle(self, bill: Bill) -> None:
        self._held -= bill.held
        self._in_flight -= 1
        self._owed += bill.untold
        self._settled.set()
