"""Of several daemons that serve one repository one may act, until it stops saying so.

Rule: no two clocks are ever compared. Who waits measures by its own clock how long the record stands unchanged; who
holds it counts from before it began to write it, and stops well before anybody who waits may begin.
"""

import asyncio
import logging
import math
import os
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from bot.claim import Tenure
from bot.domain.remote import Remote
from bot.errors import BotError, Elsewhere, NeedsHuman, Retryable
from bot.git.in_thread import in_thread
from bot.workspace.lease_ref import Entry, Record, Unwelcome

log = logging.getLogger(__name__)

_RENEW, _END, _TAKE, _ASK = 1 / 3, 5 / 6, 13 / 12, 1 / 12
"""Parts of `seconds`: when it is renewed; when the right ends; when others may have it; how often they ask."""
_LEAST_ASK = 2.0
_TO_APPEAR = 10.0
"""Seconds until what was written last is shown to others: nobody begins before that."""
_NEVER = -math.inf


class Register(Protocol):
    def read(self, remote: Remote) -> Entry: ...
    def swap(self, remote: Remote, old: str, record: Record) -> str: ...


@dataclass(frozen=True, slots=True)
class Who:
    """Which daemon this is, the same after every start of it."""

    id: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class _Sighting:
    """What was seen at the remote, and since when it stands there."""

    entry: Entry
    since: float
    wait: float
    """... before somebody else may have it."""
    anew: bool
    """It was, or is, another's."""


class GitClaim:
    def __init__(
        self,
        register: Register,
        remote: Callable[[], Awaitable[Remote]],
        *,
        own: Who,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        """`clock` must go on while the process is stopped and while the machine sleeps."""
        self._register, self._remote = register, remote
        self._own, self._life = own, uuid.uuid4().hex
        self._seconds, self._clock = seconds, clock
        self._turn = asyncio.Lock()
        self._seen: _Sighting | None = None
        self._right_ends = self._due = self._written = _NEVER
        self._certain = False
        """What was seen last is ours, and nobody else has any business to change it."""
        self._held = self._told = self._alone = self._standing_by = False
        self._trouble: BotError | None = None

    async def ensure(self) -> Tenure:
        async with self._turn:
            if not self._alone and self._clock() >= self._due:
                await self._ask()
            return self._tenure()

    def check(self) -> None:
        if not self._is_ours():
            raise Elsewhere
        self._written = self._clock()

    async def release(self) -> None:
        async with self._turn:
            seen, self._right_ends, self._due, self._certain = self._seen, _NEVER, _NEVER, False
            if self._alone or seen is None or seen.entry.record is None or seen.entry.record.life != self._life:
                return
            try:
                await in_thread(self._register.swap, await self._remote(), seen.entry.id, self._last(seen))
            except BotError as problem:
                log.info("went without a word to the others reason=%s", problem)

    def _is_ours(self) -> bool:
        return self._alone or self._clock() < self._right_ends

    def _tenure(self) -> Tenure:
        if self._is_ours():
            if self._seen and self._seen.anew and not self._told:
                self._told = True
                return Tenure.REGAINED
            return Tenure.OURS
        if self._trouble:
            raise self._trouble.with_traceback(None)
        if self._standing_by and self._seen and self._seen.entry.record and self._seen.entry.record.free:
            raise Retryable("Another treehand has just gone. What it wrote last has to appear first.")
        if self._standing_by:
            return Tenure.OTHERS
        raise Retryable("The claim to the repository ran out before it was there.")

    async def _ask(self) -> None:
        self._trouble = None
        try:
            await in_thread(self._settle, await self._remote())
        except (Retryable, NeedsHuman) as problem:
            self._trouble = problem
            self._due = self._clock() + self._pause

    @property
    def _pause(self) -> float:
        return max(_LEAST_ASK, self._seconds * _ASK)

    def _settle(self, remote: Remote) -> None:
        seen = self._seen if self._certain and self._seen else self._look(remote)
        self._certain = False
        if not self._may_take(seen) or not self._take(remote, seen):
            self._stand_by()

    def _look(self, remote: Remote) -> _Sighting:
        entry, before = self._register.read(remote), self._seen
        if before is None or before.entry.id != entry.id:
            self._seen = before = self._sighted(entry, before)
        return before

    def _sighted(self, entry: Entry, before: _Sighting | None) -> _Sighting:
        """The clock is read when the answer has come: what was written, was written before."""
        now, record = self._clock(), entry.record
        if record and self._is_mine(record):
            return _Sighting(entry, now, 0.0, anew=record.taken)
        if not entry.id:  # somebody has removed it; whoever had it does not know yet
            return _Sighting(entry, now, before.wait if before else 0.0, anew=bool(before and before.anew))
        self._told = False
        seconds = record.seconds if record else self._seconds
        return _Sighting(entry, now, seconds * _TAKE, anew=True)

    def _is_mine(self, record: Record) -> bool:
        """Ours of an earlier life is taken over at once; later on, one that calls itself like us is another."""
        return record.life == self._life or (record.by == self._own.id and not self._held)

    def _is_others(self, entry: Entry) -> bool:
        return bool(entry.id) and not (entry.record and self._is_mine(entry.record))

    def _may_take(self, seen: _Sighting) -> bool:
        return self._clock() - seen.since >= seen.wait

    def _take(self, remote: Remote, seen: _Sighting) -> bool:
        """False: somebody else was faster."""
        mine, begun = self._next(seen), self._clock()
        try:
            made = self._register.swap(remote, seen.entry.id, mine)
        except Unwelcome as refusal:
            self._alone = True
            log.warning("several daemons cannot agree here, so this one acts as if alone reason=%s", refusal)
            return True
        except Retryable as problem:  # its answer may have been lost
            there = self._look(remote).entry
            if there.record != mine:
                if there.id == seen.entry.id or not self._is_others(there):
                    raise
                log.info("was too late to claim reason=%s", problem)
                return False
            made = there.id
        self._hold(Entry(made, mine), begun)
        return True

    def _next(self, seen: _Sighting) -> Record:
        term = seen.entry.record.term + 1 if seen.entry.record else 1
        taken = seen.anew and not self._told
        host, pid = self._own.host, os.getpid()
        return Record(self._own.id, self._life, term, self._seconds, host, pid, taken=taken)

    def _last(self, seen: _Sighting) -> Record:
        """Free for anybody, once what we wrote last has had the time to appear."""
        hidden = max(self._written + _TO_APPEAR - self._clock(), 0.0)
        return replace(self._next(seen), seconds=min(hidden / _TAKE, self._seconds), free=True)

    def _hold(self, entry: Entry, begun: float) -> None:
        if not self._held or self._standing_by:
            log.info("claimed term=%d", entry.record.term if entry.record else 0)
        self._seen = _Sighting(entry, self._clock(), 0.0, anew=bool(entry.record and entry.record.taken))
        self._right_ends, self._due = begun + self._seconds * _END, begun + self._seconds * _RENEW
        self._held = self._certain = True
        self._standing_by = False

    def _stand_by(self) -> None:
        record, now = self._seen.entry.record if self._seen else None, self._clock()
        if not self._standing_by:
            log.info("stands by holder=%s", record.holder if record else "unknown")
        left = self._seen.since + self._seen.wait - now if self._seen else self._pause
        self._right_ends, self._due, self._standing_by = _NEVER, now + min(self._pause, max(left, _LEAST_ASK)), True
