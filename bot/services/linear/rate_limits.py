"""Rate limiter: paces requests to Linear. Rule: its limits are kept by waiting, never found by hitting them.

There are two budgets, requests and complexity; both refill constantly. https://linear.app/developers/rate-limiting
"""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.errors import RateLimited
from bot.services.http.availability import RetryTimes
from bot.services.http.server_clock import ServerTime, parse_http_date
from bot.services.http.service_reply import ServiceReply
from bot.services.linear.errors import is_limit
from bot.system.clock import Clock

Sleep = Callable[[float], Awaitable[object]]

_AT_ONCE = 4
_LONGEST_WAITED = 5.0
"""A shorter wait is waited for here; during a longer one the loop does something else."""
_HOUR = 3600.0
_UNSTATED_WAIT, _MAX_WAIT = 60.0, 3600.0
_RESERVE = 0.1
"""Part of each budget that is left to other users of the key: below it, only the refill is used."""
_HOLD = "linear"
_USUAL_COST = 100.0
_TRIES = 20


@dataclass(slots=True)
class RateBudget:
    limit: float
    left: float
    at: float

    def wait(self, cost: float, now: float) -> float:
        """Seconds until it has room for this cost."""
        rate = self.limit / _HOUR
        left = min(self.limit, self.left + max(0.0, now - self.at) * rate)
        return max(0.0, cost + min(self.limit * _RESERVE, self.limit - cost) - left) / rate

    def spend(self, cost: float, now: float) -> None:
        rate = self.limit / _HOUR
        self.left = max(0.0, min(self.limit, self.left + max(0.0, now - self.at) * rate) - cost)
        self.at = now

    def update(self, limit: float | None, left: float | None, now: float) -> None:
        if limit and limit > 0:
            self.left, self.limit = min(self.left, limit), limit
        if left is not None:
            self.left, self.at = max(0.0, min(left, self.limit)), now


class RateLimiter:
    def __init__(
        self, holds: RetryTimes, server_time: ServerTime, elapsing: Clock, sleep: Sleep = asyncio.sleep
    ) -> None:
        """Budgets refill by `elapsing`, which no change of the clock moves; imposed waits outlive the process."""
        self._holds, self._server_time, self._elapsing, self._sleep = holds, server_time, elapsing, sleep
        now = elapsing()
        # until an answer states the limits: the lowest ever published
        self._budgets = {"requests": RateBudget(1500, 1500, now), "complexity": RateBudget(250_000, 250_000, now)}
        self._costs: dict[str, float] = {}
        self._unstated = 0
        self._permits = asyncio.Semaphore(_AT_ONCE)

    @asynccontextmanager
    async def permit(self, shape: str) -> AsyncIterator[None]:
        """Held while the request is under way. Raises RateLimited if it may not be sent for a while."""
        async with self._permits:
            await self._wait(self._costs.get(shape, _USUAL_COST))
            yield

    def update(self, shape: str, reply: ServiceReply) -> float:
        """Applies the budgets that an answer states. Returns the seconds until we may ask again; 0: at once."""
        now, headers = self._elapsing(), reply.headers
        if (cost := _number(headers, "x-complexity")) is not None:
            self._costs[shape] = cost
        for name, budget in self._budgets.items():
            limit, left = (_number(headers, f"x-ratelimit-{name}-{part}") for part in ("limit", "remaining"))
            budget.update(limit, left, now)
        wait = self._stated_wait(shape, headers, refused=is_limit(reply))
        if wait > 0:
            self._holds.hold(_HOLD, max(self._server_time.local_now() + wait, self._holds.until(_HOLD)))
        return wait

    def remaining(self) -> Mapping[str, tuple[float, float]]:
        """Remaining units of each budget, and its limit."""
        return {name: (budget.left, budget.limit) for name, budget in self._budgets.items()}

    def _stated_wait(self, shape: str, headers: Mapping[str, str], *, refused: bool) -> float:
        wait = _retry_after(headers, self._server_time.now()) if refused else 0.0
        if refused and _number(headers, "x-ratelimit-endpoint-requests-remaining") == 0:  # this operation's own limit
            wait = max(wait, self._until(_number(headers, "x-ratelimit-endpoint-requests-reset")))
        if refused and not wait and any(_is_empty(headers, name) for name in self._budgets):
            wait = self._until_refilled(shape)  # `reset` is the time when a budget is full again
        if not refused:
            self._unstated = 0
        elif not wait:
            wait = min(_UNSTATED_WAIT * 2 ** min(self._unstated, 10), _MAX_WAIT)
            self._unstated += 1
        return min(wait, _MAX_WAIT)

    def _until_refilled(self, shape: str) -> float:
        now, cost = self._elapsing(), self._costs.get(shape, _USUAL_COST)
        return max(self._budgets["requests"].wait(1, now), self._budgets["complexity"].wait(cost, now))

    def _until(self, reset: float | None) -> float:
        """`reset` is in milliseconds of the server's clock."""
        return max(0.0, reset / 1000 - self._server_time.now()) + 1 if reset else 0.0

    async def _wait(self, cost: float) -> None:
        for _ in range(_TRIES):
            now, held = self._elapsing(), self._held()
            pacing = max(self._budgets["requests"].wait(1, now), self._budgets["complexity"].wait(cost, now))
            wait = max(held, pacing)
            if wait <= 0:
                self._budgets["requests"].spend(1, now)
                self._budgets["complexity"].spend(cost, now)
                return
            if wait > _LONGEST_WAITED:
                raise RateLimited(f"Linear's rate limit is used up; {wait:.0f} s to go.", retry_after=wait)
            await self._sleep(wait)
        raise RateLimited("Too many requests to Linear are waiting.", retry_after=_LONGEST_WAITED)

    def _held(self) -> float:
        """Seconds left of the wait that Linear imposed."""
        left = self._holds.until(_HOLD) - self._server_time.local_now()
        if left > _MAX_WAIT + 1:  # the clock was moved
            self._holds.hold(_HOLD, self._server_time.local_now() + _UNSTATED_WAIT)
            return _UNSTATED_WAIT
        return left


def _is_empty(headers: Mapping[str, str], budget: str) -> bool:
    return _number(headers, f"x-ratelimit-{budget}-remaining") == 0


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        number = float(headers[name])
    except (KeyError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds or a date; anything else counts as no time."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return 0.0
    seconds = _number(headers, "retry-after")
    if seconds is None:
        at = parse_http_date(value)
        return 0.0 if at is None else max(at - now + 1, 1.0)
    return max(seconds, 1.0)
