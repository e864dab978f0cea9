"""Request budget: refuses a sandbox's next request at a limit of tokens or money, its own or that of the day.

The cost of an answer is known only at its end. So a request in flight reserves its maximum cost, and if that does not
fit any more, the requests of a sandbox go one at a time: a limit is exceeded by one request of each sandbox at most,
and the last part of a budget is not lost to a generous `max_tokens`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.domain.price import Price, TokenCounts
from bot.errors import Retryable
from bot.sandbox.proxy.grant import DayBudget, Grant, ProxyRefusal, SandboxUsage, UsedUp
from bot.sandbox.proxy.token_usage import TokenUsage

_REFUSALS = {
    UsedUp.TOKENS: "The token budget of this run is used up.",
    UsedUp.MONEY: "The money that this issue may cost is spent.",
    UsedUp.DAY: "The money that all issues together may cost today is spent.",
}


@dataclass(slots=True)
class RequestBill:
    """Estimated cost of a request, and the counter of its answer."""

    input: int
    output: int
    price: Price
    counter: TokenUsage | None = None
    is_free: bool = False
    """It failed at the service: unreported tokens are not the sandbox's fault."""
    unsettled_usd: float = 0.0
    """Money that it may still cost: the rest of its reservation."""

    @property
    def reserved(self) -> int:
        return self.input + self.output

    @property
    def reserved_usd(self) -> float:
        return self.price.cost(TokenCounts(input=self.input, output=self.output))

    @property
    def unreported(self) -> int:
        """Tokens that it may have cost besides the reported ones. A token has at least one byte of the answer."""
        if self.is_free or (self.counter and self.counter.is_final):
            return 0
        if self.counter is None:
            return self.reserved
        output = min(self.output, self.counter.bytes) if self.counter.is_complete else self.output
        return max(0, self.input + output - self.counter.tokens)

    @property
    def unreported_usd(self) -> float:
        return self.price.cost(TokenCounts(output=self.unreported))


@dataclass(slots=True)
class RequestBudget:
    grant: Grant
    usage: SandboxUsage
    day: DayBudget
    _reserved: int = 0
    _reserved_usd: float = 0.0
    _in_flight: int = 0
    _unreported: int = 0
    """Tokens of answers that were cut off: counted in full, or closing the connection early would be free."""
    _unreported_usd: float = 0.0
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def reserve(self, bill: RequestBill) -> AsyncIterator[None]:
        """Raises ProxyRefusal if a limit is reached."""
        while self._in_flight and not self._fits(bill) and not self._find_used_up(bill):
            self._released.clear()
            await self._released.wait()
        if used_up := self._find_used_up(bill):
            self.usage.used_up = used_up
            raise ProxyRefusal(429, _REFUSALS[used_up])
        self._save_reservation(bill)
        self._reserved += bill.reserved
        self._reserved_usd += bill.reserved_usd
        self.day.reserved_usd += bill.reserved_usd
        self._in_flight += 1
        try:
            yield
        finally:
            self._release(bill)

    def _save_reservation(self, bill: RequestBill) -> None:
        """Saves the most that the request may cost. Raises ProxyRefusal if that is impossible."""
        try:
            self.usage.reserve(bill.reserved_usd)
        except Retryable as problem:
            raise ProxyRefusal(503, f"Nothing can be spent: {problem}") from problem
        bill.unsettled_usd = bill.reserved_usd

    def _find_used_up(self, bill: RequestBill) -> UsedUp:
        tokens, usd = self.grant.max_tokens, self.grant.max_usd
        if tokens and self.usage.tokens + self._unreported + bill.input >= tokens:
            return UsedUp.TOKENS
        if usd and self.usage.usd + self._unreported_usd >= usd:
            return UsedUp.MONEY
        if self.day.left_usd <= self._unreported_usd:
            return UsedUp.DAY
        return UsedUp.NOTHING

    def _fits(self, bill: RequestBill) -> bool:
        tokens, usd = self.grant.max_tokens, self.grant.max_usd
        more, more_usd = (
            self._unreported + self._reserved + bill.reserved,
            self._unreported_usd + self._reserved_usd + bill.reserved_usd,
        )
        return (
            (not tokens or self.usage.tokens + more <= tokens)
            and (not usd or self.usage.usd + more_usd <= usd)
            and self._unreported_usd + self.day.reserved_usd + bill.reserved_usd <= self.day.left_usd
        )

    def _release(self, bill: RequestBill) -> None:
        self._reserved -= bill.reserved
        self._reserved_usd -= bill.reserved_usd
        self.day.reserved_usd -= bill.reserved_usd
        self._in_flight -= 1
        self._unreported += bill.unreported
        self._unreported_usd += bill.unreported_usd
        self._released.set()
        if bill.unsettled_usd:
            self.usage.add(0, 0.0, settled_usd=bill.unsettled_usd)
