"""Token budget: stops a sandbox at its maximum of tokens, although the cost of an answer is known only at its end.

A request in flight reserves its maximum cost. If that does not fit any more, requests go one at a time: so requests in
parallel cannot exceed the budget together, and the last part of a budget is not lost to a generous `max_tokens`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.sandbox.proxy.grant import ProxyRefusal, SandboxUsage
from bot.sandbox.proxy.token_usage import TokenUsage

USED_UP = "The token budget of this run is used up."


@dataclass(slots=True)
class RequestBill:
    """Estimated cost of a request, and the counter of its answer."""

    input: int
    output: int
    counter: TokenUsage | None = None
    is_free: bool = False
    """It failed at the service: unreported tokens are not the sandbox's fault."""

    @property
    def reserved(self) -> int:
        return self.input + self.output

    @property
    def unreported(self) -> int:
        """Tokens that it may have cost besides the reported ones. A token has at least one byte of the answer."""
        if self.is_free or (self.counter and self.counter.is_final):
            return 0
        if self.counter is None:
            return self.reserved
        output = min(self.output, self.counter.bytes) if self.counter.is_complete else self.output
        return max(0, self.input + output - self.counter.tokens)


@dataclass(slots=True)
class TokenBudget:
    max_tokens: int
    usage: SandboxUsage
    _reserved: int = 0
    _in_flight: int = 0
    _unreported: int = 0
    """Tokens of answers that were cut off: counted in full, or closing the connection early would be free."""
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def reserve(self, bill: RequestBill) -> AsyncIterator[None]:
        """Raises ProxyRefusal if the tokens are used up."""
        while self._in_flight and not self._fits(bill) and not self._is_used_up(bill):
            self._released.clear()
            await self._released.wait()
        if self._is_used_up(bill):
            self.usage.is_exhausted = True
            raise ProxyRefusal(429, USED_UP)
        self._reserved += bill.reserved
        self._in_flight += 1
        try:
            yield
        finally:
            self._release(bill)

    def _is_used_up(self, bill: RequestBill) -> bool:
        return bool(self.max_tokens) and self.usage.tokens + self._unreported + bill.input >= self.max_tokens

    def _fits(self, bill: RequestBill) -> bool:
        return (
            not self.max_tokens
            or self.usage.tokens + self._unreported + self._reserved + bill.reserved <= self.max_tokens
        )

    def _release(self, bill: RequestBill) -> None:
        self._reserved -= bill.reserved
        self._in_flight -= 1
        self._unreported += bill.unreported
        self._released.set()
