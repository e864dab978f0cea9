"""Rate limiter: paces requests to GitHub. Rule: published limits are kept by waiting, never found by hitting them.

Of the writes that wait, the most urgent goes first (`write_queue`).
All processes share the counts, in SQLite. https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api
"""

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial

from bot.errors import RateLimited, Retryable
from bot.services.github.rate_limit_detection import RateLimitKind, find_limit
from bot.services.github.write_queue import Place, WriteQueue, WriteRank
from bot.services.http.availability import RetryTimes, execute
from bot.services.http.server_clock import parse_http_date
from bot.services.http.service_reply import ServiceReply
from bot.system.clock import Clock

Sleep = Callable[[float], Awaitable[object]]

_LONGEST_HOLD_WAITED = 5.0
"""A shorter hold is waited for here; for a longer one the loop does something else."""
_LONGEST_PACING_WAITED = 65.0
_SECONDS_BETWEEN_WRITES = 1.0
_WRITES_A_MINUTE = (80, 60.0)
_CREATES_AN_HOUR = (500, 3600.0)
_POINTS, _MINUTE, _HOUR = 900, 60.0, 3600.0
_READ_POINTS, _WRITE_POINTS = 1, 5
_READS_PER_NOTE, _NOTE_SECONDS = 25, 10.0
"""Reads are recorded in advance, so many at a time: each record waits for the disk."""
_UNSTATED_WAIT, _MAX_UNSTATED_WAIT = 60.0, 900.0
"""After a refusal that names no time; doubled each time."""
_MAX_WAIT = 3600.0
_TRIES = 100
"""A write is overtaken by fewer."""


class RequestKind(StrEnum):
    READ = "read"
    MINT = "mint"
    """A POST that creates no content: it mints a token."""
    WRITE = "write"
    CREATE = "create"
    """A write that notifies people: GitHub allows fewer of those."""


WRITES = frozenset({RequestKind.WRITE, RequestKind.CREATE})


class RateLimiter:
    def __init__(self, holds: "RateLimitHolds", clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._holds, self._clock, self._sleep = holds, clock, sleep
        self._queue = WriteQueue()
        self._wrote_at = 0.0
        self._spent = deque(self._spent_before_start(clock()))
        self._recorded_reads = (0.0, 0)
        """Time of the last record of reads, and how many of those are left."""
        self._unstated: dict[tuple[str, RequestKind], int] = {}

    @asynccontextmanager
    async def permit(
        self,
        kind: RequestKind,
        *,
        payer: str,
        resource: str,
        rank: WriteRank = WriteRank.ANSWER,
        mutations: int = 1,
    ) -> AsyncIterator[None]:
        """Held while the request is under way. Raises RateLimited if it may not be sent for a while.

        `mutations`: each of them costs as much as a request, but they are one write.
        """
        limits = partial(self._seconds_to_wait, kind, payer, resource)
        if kind is RequestKind.READ:
            await self._wait(limits)
            self._count(kind, mutations)
            yield
            return
        with self._queue.place(WriteRank.TOKEN if kind is RequestKind.MINT else rank) as place:
            await self._wait(limits, place)
            self._queue.begin(place)
            self._count(kind, mutations)
            try:
                yield
            finally:
                self._wrote_at = self._clock()

    def update(self, reply: ServiceReply, kind: RequestKind, *, payer: str, resource: str) -> float:
        """Applies the limits that an answer states. Returns the seconds until we may ask again; 0: at once."""
        named = reply.headers.get("x-ratelimit-resource", "")
        resource = named if named in {"core", "graphql"} else resource
        limit = find_limit(reply)
        if limit is None and reply.status < 400:
            self._unstated.pop((payer, kind), None)
        wait = self._stated_wait(reply, limit) or (self._unstated_wait(payer, kind) if limit else 0.0)
        if wait > 0:
            # A used-up limit holds its own resource; every other refusal holds all requests of this payer.
            used_up = limit is not RateLimitKind.SECONDARY and "retry-after" not in reply.headers
            self._hold(f"{payer} {resource}" if used_up else payer, wait)
        return wait

    def _stated_wait(self, reply: ServiceReply, limit: RateLimitKind | None) -> float:
        headers, refused = reply.headers, limit is not None
        wait = 0.0
        if "retry-after" in headers and (refused or reply.status >= 500):
            wait = _retry_after(headers, self._clock())
        if headers.get("x-ratelimit-remaining") == "0":
            wait = max(wait, self._until_reset(headers, refused=refused))
        return min(wait, _MAX_WAIT)

    def _until_reset(self, headers: Mapping[str, str], *, refused: bool) -> float:
        try:
            reset = float(headers.get("x-ratelimit-reset", ""))
        except ValueError:
            return 0.0
        left = reset - _server_time(headers, self._clock())
        if left > 0:
            return left + 1  # both times are integer seconds
        return _UNSTATED_WAIT if refused else 0.0

    def _unstated_wait(self, payer: str, kind: RequestKind) -> float:
        times = self._unstated.get((payer, kind), 0)
        self._unstated[payer, kind] = times + 1
        return float(min(_UNSTATED_WAIT * 2 ** min(times, 10), _MAX_UNSTATED_WAIT))

    def _hold(self, name: str, wait: float) -> None:
        self._holds.hold(name, max(self._clock() + wait, self._clock() + self._held(name)))

    async def _wait(self, limits: Callable[[], float], place: Place | None = None) -> None:
        """Returns when the request may be sent at once. Without an await since the limits were read."""
        for _ in range(_TRIES):
            if place:
                await self._queue.reach_front(place)
            if (wait := limits()) <= 0:
                return
            await self._sleep(wait)
        raise RateLimited("Too many requests to GitHub are waiting.", retry_after=_LONGEST_HOLD_WAITED)

    def _seconds_to_wait(self, kind: RequestKind, payer: str, resource: str) -> float:
        held = max(self._held(payer), self._held(f"{payer} {resource}"))
        if held > _LONGEST_HOLD_WAITED:
            raise RateLimited(f"GitHub asked Treehand to wait; {held:.0f} s are left.", retry_after=held)
        wait = max(held, self._pacing(kind))
        if wait > _LONGEST_PACING_WAITED:
            raise RateLimited(f"Treehand has used up its rate limit for writes; {wait:.0f} s to go.", retry_after=wait)
        return wait

    def _held(self, name: str) -> float:
        """Seconds left of what GitHub imposed."""
        until, now = self._holds.until(name), self._clock()
        if until - now > _MAX_WAIT + 1:  # such a long wait means that the clock was moved
            until = now + _UNSTATED_WAIT
            self._holds.hold(name, until)
        return max(0.0, until - now)

    def _pacing(self, kind: RequestKind) -> float:
        """Seconds that the published limits ask for."""
        now = self._clock()
        wait = self._points_wait(now)
        if kind is RequestKind.READ:
            return wait
        writes = self._holds.writes(now=now)
        self._wrote_at = min(max([self._wrote_at, *(at for at, _ in writes[-1:])]), now)
        wait = max(wait, self._wrote_at + _SECONDS_BETWEEN_WRITES - now)
        if kind in WRITES:
            wait = max(wait, _window_wait([at for at, _ in writes], *_WRITES_A_MINUTE, now))
        if kind is RequestKind.CREATE:
            wait = max(wait, _window_wait([at for at, creates in writes if creates], *_CREATES_AN_HOUR, now))
        return wait

    def _spent_before_start(self, now: float) -> Sequence[tuple[float, int]]:
        """Points of the last minute, by earlier processes. Reads recorded in advance count as if made late."""
        since = _MINUTE + _NOTE_SECONDS
        reads = [(min(at + _NOTE_SECONDS, now), points) for at, points in self._holds.reads(now=now, seconds=since)]
        writes = [(at, _WRITE_POINTS) for at, _ in self._holds.writes(now=now) if at >= now - _MINUTE]
        return sorted([*reads, *writes])

    def _points_wait(self, now: float) -> float:
        while self._spent and not 0 <= now - self._spent[0][0] < _MINUTE:
            self._spent.popleft()
        if sum(points for _, points in self._spent) < _POINTS:
            return 0.0
        return self._spent[0][0] + _MINUTE - now

    def _count(self, kind: RequestKind, mutations: int) -> None:
        now = self._clock()
        self._spent.append((now, _READ_POINTS if kind is RequestKind.READ else _WRITE_POINTS * mutations))
        if kind in WRITES:
            self._holds.record_write(now, creates=kind is RequestKind.CREATE)
        else:
            self._record_read(now)

    def _record_read(self, now: float) -> None:
        at, left = self._recorded_reads
        if not left or not 0 <= now - at < _NOTE_SECONDS:
            with contextlib.suppress(Retryable):  # reading works without a disk, too
                self._holds.record_reads(now, _READS_PER_NOTE * _READ_POINTS, seconds=_MINUTE + _NOTE_SECONDS)
            at, left = now, _READS_PER_NOTE
        self._recorded_reads = (at, left - 1)


class RateLimitHolds(RetryTimes):
    """Holds, writes and reads of all processes, in SQLite. Each process counts its own reads after it has started."""

    def writes(self, *, now: float) -> Sequence[tuple[float, bool]]:
        """Times of the last hour, oldest first, and whether it created content. A later time: the clock was moved."""
        sql = "SELECT at, creates FROM writes WHERE at BETWEEN ? AND ? ORDER BY at"
        return [(row["at"], bool(row["creates"])) for row in execute(self._db, sql, (now - _HOUR, now))]

    def record_write(self, at: float, *, creates: bool) -> None:
        """Before it is sent: a failed write counts as well."""
        sql = "INSERT INTO writes (at, creates) VALUES (?, ?)"
        number = execute(self._db, sql, (at, creates)).lastrowid or 0
        if number % 100 == 0:  # each change waits for the disk
            execute(self._db, "DELETE FROM writes WHERE at NOT BETWEEN ? AND ?", (at - _HOUR, at))

    def reads(self, *, now: float, seconds: float) -> Sequence[tuple[float, int]]:
        """Oldest first."""
        sql = "SELECT at, points FROM reads WHERE at BETWEEN ? AND ? ORDER BY at"
        return [(row["at"], row["points"]) for row in execute(self._db, sql, (now - seconds, now))]

    def record_reads(self, at: float, points: int, *, seconds: float) -> None:
        """Before they are sent. Removes records older than `seconds`, or later than now."""
        execute(self._db, "DELETE FROM reads WHERE at NOT BETWEEN ? AND ?", (at - seconds, at))
        execute(self._db, "INSERT INTO reads (at, points) VALUES (?, ?)", (at, points))


def _retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds or a date; anything else counts as no time. At least a second: no server means "at once"."""
    value = headers["retry-after"].strip()
    try:
        wait = float(value)
    except ValueError:
        at = parse_http_date(value)
        wait = math.nan if at is None else at - _server_time(headers, now) + 1
    return 0.0 if math.isnan(wait) else max(wait, 1.0)


def _server_time(headers: Mapping[str, str], now: float) -> float:
    """The clock that wrote the other times of this answer."""
    return parse_http_date(headers.get("date", "")) or now


def _window_wait(writes: Sequence[float], most: int, seconds: float, now: float) -> float:
    return writes[-most] + seconds - now if len(writes) >= most else 0.0
