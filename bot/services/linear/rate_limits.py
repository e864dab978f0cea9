"""When the next request may go out. Rule: Linear's budgets are kept by waiting, never found by using them up.

There are two, of requests and of complexity; both refill constantly. https://linear.app/developers/rate-limiting
"""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.errors import RateLimited
from bot.services.http.availability import Holds
from bot.services.http.server_clock import ServerTime, seconds_of
from bot.services.linear.errors import Reply, is_limit
from bot.system.clock import Clock

Sleep = Callable[[float], Awaitable[object]]

_AT_ONCE = 4
_PATIENCE = 5.0
"""A wait that is over sooner is waited for here; the loop has better things to do than to wait for a longer one."""
_HOUR = 3600.0
_UNSAID, _MOST = 60.0, 3600.0
_LITTLE = 0.1
"""Where less of a budget is left, only what refills is used: others may live on it as well."""
_WHO = "linear"
_USUAL_COST = 100.0
_TRIES = 20


@dataclass(slots=True)
class Budget:
    limit: float
    left: float
    at: float

    def wait(self, cost: float, now: float) -> float:
        """Seconds until it has room for this."""
        rate = self.limit / _HOUR
        left = min(self.limit, self.left + max(0.0, now - self.at) * rate)
        return max(0.0, cost + min(self.limit * _LITTLE, self.limit - cost) - left) / rate

    def spend(self, cost: float, now: float) -> None:
        rate = self.limit / _HOUR
        self.left = max(0.0, min(self.limit, self.left + max(0.0, now - self.at) * rate) - cost)
        self.at = now

    def heard(self, limit: float | None, left: float | None, now: float) -> None:
        if limit and limit > 0:
            self.left, self.limit = min(self.left, limit), limit
        if left is not None:
            self.left, self.at = max(0.0, min(left, self.limit)), now


class Pace:
    def __init__(self, holds: Holds, time: ServerTime, elapsing: Clock, sleep: Sleep = asyncio.sleep) -> None:
        """Budgets refill whatever becomes of the clock; what we were told to wait outlives the process."""
        self._holds, self._time, self._elapsing, self._sleep = holds, time, elapsing, sleep
        now = elapsing()
        # as long as no answer has told, the least that was ever published
        self._budgets = {"requests": Budget(1500, 1500, now), "complexity": Budget(250_000, 250_000, now)}
        self._costs: dict[str, float] = {}
        self._unsaid = 0
        self._turns = asyncio.Semaphore(_AT_ONCE)

    @asynccontextmanager
    async def turn(self, shape: str) -> AsyncIterator[None]:
        """Held while the request is under way. Raises RateLimited when it may not go out for a while."""
        async with self._turns:
            await self._room(self._costs.get(shape, _USUAL_COST))
            yield

    def heard(self, shape: str, reply: Reply) -> float:
        """Take in what an answer says about budgets. The seconds until we may ask again; 0: at once."""
        now, headers = self._elapsing(), reply.headers
        if (cost := _number(headers, "x-complexity")) is not None:
            self._costs[shape] = cost
        for name, budget in self._budgets.items():
            limit, left = (_number(headers, f"x-ratelimit-{name}-{part}") for part in ("limit", "remaining"))
            budget.heard(limit, left, now)
        wait = self._asked_to_wait(headers, refused=is_limit(reply))
        if wait > 0:
            self._holds.hold(_WHO, max(self._time.own() + wait, self._holds.until(_WHO)))
        return wait

    def left(self) -> Mapping[str, tuple[float, float]]:
        """What is left of each budget, of how much."""
        return {name: (budget.left, budget.limit) for name, budget in self._budgets.items()}

    def _asked_to_wait(self, headers: Mapping[str, str], *, refused: bool) -> float:
        wait = _retry_after(headers, self._time.now()) if refused else 0.0
        for name in self._budgets:
            if _number(headers, f"x-ratelimit-{name}-remaining") == 0:
                wait = max(wait, self._until(_number(headers, f"x-ratelimit-{name}-reset")))
        if not refused:
            self._unsaid = 0
        elif not wait:
            wait = min(_UNSAID * 2 ** min(self._unsaid, 10), _MOST)
            self._unsaid += 1
        return min(wait, _MOST)

    def _until(self, reset: float | None) -> float:
        """It is in milliseconds, by the server's clock."""
        return max(0.0, reset / 1000 - self._time.now()) + 1 if reset else 0.0

    async def _room(self, cost: float) -> None:
        for _ in range(_TRIES):
            now, imposed = self._elapsing(), self._imposed()
            own = max(self._budgets["requests"].wait(1, now), self._budgets["complexity"].wait(cost, now))
            wait = max(imposed, own)
            if wait <= 0:
                self._budgets["requests"].spend(1, now)
                self._budgets["complexity"].spend(cost, now)
                return
            if wait > _PATIENCE:
                raise RateLimited(f"Linear's limits leave no room; {wait:.0f} s to go.", retry_after=wait)
            await self._sleep(wait)
        raise RateLimited("Too much is waiting for Linear.", retry_after=_PATIENCE)

    def _imposed(self) -> float:
        """Seconds that we were told to wait, and have not waited yet."""
        left = self._holds.until(_WHO) - self._time.own()
        if left > _MOST + 1:  # the clock was moved
            self._holds.hold(_WHO, self._time.own() + _UNSAID)
            return _UNSAID
        return left


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        number = float(headers[name])
    except (KeyError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds or a date; what is neither says nothing."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return 0.0
    seconds = _number(headers, "retry-after")
    if seconds is None:
        at = seconds_of(value)
        return 0.0 if at is None else max(at - now + 1, 1.0)
    return max(seconds, 1.0)
