"""When the next request may go out. Rule: GitHub's published limits are kept by waiting, never found by hitting them.

https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api
"""

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum

from bot.errors import RateLimited, Retryable
from bot.services.github.errors import Limit, Reply, limit_in
from bot.services.github.http_cache import Limits
from bot.services.http.server_clock import seconds_of
from bot.system.clock import Clock

Sleep = Callable[[float], Awaitable[object]]

_PATIENCE = 5.0
"""A limit that is over sooner is waited for here; the loop has better things to do than to wait for a longer one."""
_OWN_PATIENCE = 65.0
_APART = 1.0
_A_MINUTE = (80, 60.0)  # writes
_AN_HOUR = (500, 3600.0)  # of those that make something people are told of
_POINTS, _MINUTE = 900, 60.0
_READ, _CHANGE = 1, 5  # points
_AHEAD, _AHEAD_SECONDS = 25, 10.0
"""So many reads are noted at a time, for so long: each note waits for the disk."""
_UNSAID, _MOST_UNSAID = 60.0, 900.0
_MOST = 3600.0
_TRIES = 20


class Kind(StrEnum):
    READ = "read"
    MINT = "mint"
    """A write that makes no content."""
    WRITE = "write"
    CREATE = "create"
    """A write that makes something people are told of: GitHub allows fewer of those."""


WRITES = frozenset({Kind.WRITE, Kind.CREATE})


class Pace:
    def __init__(self, limits: Limits, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._limits, self._clock, self._sleep = limits, clock, sleep
        self._writing = asyncio.Lock()
        self._wrote_at = 0.0
        self._spent = deque(self._spent_before(clock()))
        self._ahead = (0.0, 0)
        """When reads were noted last, and how many of those are left."""
        self._unsaid: dict[tuple[str, Kind], int] = {}

    @asynccontextmanager
    async def turn(self, kind: Kind, *, who: str, resource: str) -> AsyncIterator[None]:
        """Held while the request is under way. Raises RateLimited when it may not go out for a while."""
        if kind is Kind.READ:
            await self._room(kind, who, resource)
            yield
            return
        async with self._writing:
            await self._room(kind, who, resource)
            try:
                yield
            finally:
                self._wrote_at = self._clock()

    def heard(self, reply: Reply, kind: Kind, *, who: str, resource: str) -> float:
        """Take in what an answer says about limits. The seconds until we may ask again; 0: at once."""
        named = reply.headers.get("x-ratelimit-resource", "")
        resource = named if named in {"core", "graphql"} else resource
        limit = limit_in(reply)
        if limit is None and reply.status < 400:
            self._unsaid.pop((who, kind), None)
        wait = self._asked_to_wait(reply, limit) or (self._unsaid_wait(who, kind) if limit else 0.0)
        if wait > 0:
            # A limit that is used up holds its own resource; every other refusal is about us as a whole.
            used_up = limit is not Limit.SECONDARY and "retry-after" not in reply.headers
            self._hold(f"{who} {resource}" if used_up else who, wait)
        return wait

    def _asked_to_wait(self, reply: Reply, limit: Limit | None) -> float:
        headers, refused = reply.headers, limit is not None
        wait = 0.0
        if "retry-after" in headers and (refused or reply.status >= 500):
            wait = _retry_after(headers, self._clock())
        if headers.get("x-ratelimit-remaining") == "0":
            wait = max(wait, self._until_reset(headers, refused=refused))
        return min(wait, _MOST)

    def _until_reset(self, headers: Mapping[str, str], *, refused: bool) -> float:
        try:
            reset = float(headers.get("x-ratelimit-reset", ""))
        except ValueError:
            return 0.0
        left = reset - _date_in(headers, self._clock())
        if left > 0:
            return left + 1  # both times are whole seconds
        return _UNSAID if refused else 0.0

    def _unsaid_wait(self, who: str, kind: Kind) -> float:
        times = self._unsaid.get((who, kind), 0)
        self._unsaid[who, kind] = times + 1
        return float(min(_UNSAID * 2 ** min(times, 10), _MOST_UNSAID))

    def _hold(self, name: str, wait: float) -> None:
        self._limits.hold(name, max(self._clock() + wait, self._clock() + self._imposed(name)))

    async def _room(self, kind: Kind, who: str, resource: str) -> None:
        for _ in range(_TRIES):
            imposed = max(self._imposed(who), self._imposed(f"{who} {resource}"))
            if imposed > _PATIENCE:
                raise RateLimited(f"GitHub asked me to wait; {imposed:.0f} s are left.", retry_after=imposed)
            wait = max(imposed, self._own(kind))
            if wait <= 0:
                self._count(kind)
                return
            if wait > _OWN_PATIENCE:
                raise RateLimited(f"I have written as much as GitHub allows; {wait:.0f} s to go.", retry_after=wait)
            await self._sleep(wait)
        raise RateLimited("Too much is waiting for GitHub.", retry_after=_PATIENCE)

    def _imposed(self, name: str) -> float:
        until, now = self._limits.until(name), self._clock()
        if until - now > _MOST + 1:  # we never wait that long: the clock was moved
            until = now + _UNSAID
            self._limits.hold(name, until)
        return max(0.0, until - now)

    def _own(self, kind: Kind) -> float:
        now = self._clock()
        wait = self._points_wait(now)
        if kind is Kind.READ:
            return wait
        writes = self._limits.writes(now=now)
        self._wrote_at = min(max([self._wrote_at, *(at for at, _ in writes[-1:])]), now)
        wait = max(wait, self._wrote_at + _APART - now)
        if kind in WRITES:
            wait = max(wait, _window_wait([at for at, _ in writes], *_A_MINUTE, now))
        if kind is Kind.CREATE:
            wait = max(wait, _window_wait([at for at, creates in writes if creates], *_AN_HOUR, now))
        return wait

    def _spent_before(self, now: float) -> Sequence[tuple[float, int]]:
        """By an earlier life, in the last minute; reads that were noted ahead count as if they had been made late."""
        since = _MINUTE + _AHEAD_SECONDS
        reads = [(min(at + _AHEAD_SECONDS, now), points) for at, points in self._limits.reads(now=now, seconds=since)]
        writes = [(at, _CHANGE) for at, _ in self._limits.writes(now=now) if at >= now - _MINUTE]
        return sorted([*reads, *writes])

    def _points_wait(self, now: float) -> float:
        while self._spent and not 0 <= now - self._spent[0][0] < _MINUTE:
            self._spent.popleft()
        if sum(points for _, points in self._spent) < _POINTS:
            return 0.0
        return self._spent[0][0] + _MINUTE - now

    def _count(self, kind: Kind) -> None:
        now = self._clock()
        self._spent.append((now, _READ if kind is Kind.READ else _CHANGE))
        if kind in WRITES:
            self._limits.wrote(now, creates=kind is Kind.CREATE)
        else:
            self._note_read(now)

    def _note_read(self, now: float) -> None:
        at, left = self._ahead
        if not left or not 0 <= now - at < _AHEAD_SECONDS:
            with contextlib.suppress(Retryable):  # a full disk is no reason not to look
                self._limits.reading(now, _AHEAD * _READ, seconds=_MINUTE + _AHEAD_SECONDS)
            at, left = now, _AHEAD
        self._ahead = (at, left - 1)


def _retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds or a date; what is neither says nothing. Never less than a second: nobody means `at once`."""
    value = headers["retry-after"].strip()
    try:
        wait = float(value)
    except ValueError:
        at = seconds_of(value)
        wait = math.nan if at is None else at - _date_in(headers, now) + 1
    return 0.0 if math.isnan(wait) else max(wait, 1.0)


def _date_in(headers: Mapping[str, str], now: float) -> float:
    """By the clock that also wrote the other times of this answer."""
    return seconds_of(headers.get("date", "")) or now


def _window_wait(writes: Sequence[float], most: int, seconds: float, now: float) -> float:
    return writes[-most] + seconds - now if len(writes) >= most else 0.0
