"""Lease: lets one of several daemons act on a repository and renews it while that daemon runs.

Rule: clocks are never compared. A waiting daemon measures by its own clock how long the record is unchanged; the holder
counts from before it wrote the record, and stops well before a waiting daemon may start. The record says for how long
it is: longer while no agent works, so that it is rarely renewed.
"""

import asyncio
import logging
import math
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from bot.domain.remote import Remote
from bot.errors import BotError, Elsewhere, NeedsHuman, Retryable
from bot.git.in_thread import in_thread
from bot.ports import LeaseState
from bot.workspace.lease_ref import MAX_SECONDS, LeaseEntry, LeaseRecord, LeaseRefRefused

log = logging.getLogger(__name__)

_RENEW_AFTER, _HELD_FOR, _FREE_AFTER, _RETRY_EVERY = 1 / 3, 5 / 6, 13 / 12, 1 / 12
"""Fractions of `seconds`: when to renew; how long it is held; when others may take it; how often they look."""
_RENEW_QUIET_AFTER = 2 / 3
_MIN_RETRY_SECONDS = 2.0
_SETTLING_SECONDS = 10.0
"""Seconds until the last write is visible to others: no daemon starts before."""
_NEVER = -math.inf


class LeaseStore(Protocol):
    def read(self, remote: Remote) -> LeaseEntry: ...
    def compare_and_swap(self, remote: Remote, old: str, record: LeaseRecord) -> str: ...


@dataclass(frozen=True, slots=True)
class DaemonId:
    """Identity of a daemon, the same after every restart. It tells nothing about its machine."""

    id: str


@dataclass(frozen=True, slots=True)
class _SeenEntry:
    """The entry last seen at the remote, and since when."""

    entry: LeaseEntry
    since: float
    wait: float
    """Seconds until another daemon may take it."""
    was_others: bool
    """It is or was another daemon's."""


class GitLease:
    def __init__(
        self,
        register: LeaseStore,
        remote: Callable[[], Awaitable[Remote]],
        *,
        own: DaemonId,
        seconds: float,
        clock: Callable[[], float],
        quiet_seconds: float = 0.0,
    ) -> None:
        """`clock` must continue while the process is stopped and while the machine sleeps.

        `quiet_seconds`: duration while no agent works; `seconds` if it is less.
        """
        self._store, self._remote = register, remote
        self._daemon, self._life = own, uuid.uuid4().hex
        self._seconds, self._clock = seconds, clock
        self._quiet_seconds = min(max(seconds, quiet_seconds), MAX_SECONDS)
        self._turn = asyncio.Lock()
        self._seen: _SeenEntry | None = None
        self._held_until = self._next_contact = self._last_write = self._last_busy = _NEVER
        self._remote_is_known = False
        """The last entry is ours, and no other daemon may change it yet."""
        self._was_held = self._reported_reacquired = self._unleased = self._waiting = False
        self._error: BotError | None = None

    async def ensure(self, *, quiet: bool = False) -> LeaseState:
        async with self._turn:
            if not quiet:
                self._last_busy = self._clock()
                self._shorten()
            if not self._unleased and self._clock() >= self._next_contact:
                await self._contact_remote()
            return self._state()

    def check(self) -> None:
        if not self._is_held():
            raise Elsewhere
        self._last_write = self._clock()

    async def release(self) -> None:
        async with self._turn:
            seen, self._held_until, self._next_contact, self._remote_is_known = self._seen, _NEVER, _NEVER, False
            if self._unleased or seen is None or seen.entry.record is None or seen.entry.record.life != self._life:
                return
            try:
                await in_thread(
                    self._store.compare_and_swap, await self._remote(), seen.entry.id, self._release_record(seen)
                )
            except BotError as problem:
                log.info("lease not released reason=%s", problem)

    def _shorten(self) -> None:
        """Renews a long lease as a short one: work is taken over soon if this process dies.

        It counts as short from before the renewal, whose answer may be lost.
        """
        record = self._seen.entry.record if self._seen else None
        short = self._clock() + self._seconds * _HELD_FOR
        if record and self._is_held() and record.seconds > self._seconds and self._held_until > short:
            self._held_until, self._next_contact = short, _NEVER

    def _is_held(self) -> bool:
        return self._unleased or self._clock() < self._held_until

    def _state(self) -> LeaseState:
        if self._is_held():
            if self._seen and self._seen.was_others and not self._reported_reacquired:
                self._reported_reacquired = True
                return LeaseState.REACQUIRED
            return LeaseState.HELD
        if self._error:
            raise self._error.with_traceback(None)
        if self._waiting and self._seen and self._seen.entry.record and self._seen.entry.record.free:
            raise Retryable("Another daemon has just stopped. Its last writes have to become visible first.")
        if self._waiting:
            return LeaseState.HELD_ELSEWHERE
        raise Retryable("The lease of the repository expired before it was confirmed.")

    async def _contact_remote(self) -> None:
        self._error = None
        try:
            await in_thread(self._acquire_or_wait, await self._remote())
        except (Retryable, NeedsHuman) as problem:
            self._error = problem
            self._next_contact = self._clock() + self._retry_seconds

    @property
    def _retry_seconds(self) -> float:
        return max(_MIN_RETRY_SECONDS, self._seconds * _RETRY_EVERY)

    def _acquire_or_wait(self, remote: Remote) -> None:
        seen = self._seen if self._remote_is_known and self._seen else self._read_remote(remote)
        self._remote_is_known = False
        if not self._may_acquire(seen) or not self._acquire(remote, seen):
            self._wait()

    def _read_remote(self, remote: Remote) -> _SeenEntry:
        entry, before = self._store.read(remote), self._seen
        if before is None or before.entry.id != entry.id:
            self._seen = before = self._observe(entry, before)
        return before

    def _observe(self, entry: LeaseEntry, before: _SeenEntry | None) -> _SeenEntry:
        """Reads the clock after the answer: the entry was written before that."""
        now, record = self._clock(), entry.record
        if record and self._is_mine(record):
            return _SeenEntry(entry, now, 0.0, was_others=record.taken)
        if not entry.id:  # a person removed the ref; its holder does not know yet
            return _SeenEntry(entry, now, before.wait if before else 0.0, was_others=bool(before and before.was_others))
        self._reported_reacquired = False
        seconds = record.seconds if record else self._seconds
        return _SeenEntry(entry, now, seconds * _FREE_AFTER, was_others=True)

    def _is_mine(self, record: LeaseRecord) -> bool:
        """Our own lease of an earlier process is taken over at once; once held, the same name means another process."""
        return record.life == self._life or (record.by == self._daemon.id and not self._was_held)

    def _is_others(self, entry: LeaseEntry) -> bool:
        return bool(entry.id) and not (entry.record and self._is_mine(entry.record))

    def _may_acquire(self, seen: _SeenEntry) -> bool:
        return self._clock() - seen.since >= seen.wait

    def _acquire(self, remote: Remote, seen: _SeenEntry) -> bool:
        """Returns False if another daemon was faster."""
        mine, begun = self._next_record(seen), self._clock()
        try:
            made = self._store.compare_and_swap(remote, seen.entry.id, mine)
        except LeaseRefRefused as refusal:
            self._unleased = True
            log.warning("lease refused, acting without one reason=%s", refusal)
            return True
        except Retryable as problem:  # the answer may have been lost
            there = self._read_remote(remote).entry
            if there.record != mine:
                if there.id == seen.entry.id or not self._is_others(there):
                    raise
                log.info("lease taken by another daemon reason=%s", problem)
                return False
            made = there.id
        self._record_held(mine, made, begun)
        return True

    def _next_record(self, seen: _SeenEntry) -> LeaseRecord:
        term = seen.entry.record.term + 1 if seen.entry.record else 1
        taken = seen.was_others and not self._reported_reacquired
        is_quiet = self._was_held and not self._waiting and self._clock() - self._last_busy >= self._seconds
        seconds = self._quiet_seconds if is_quiet else self._seconds
        return LeaseRecord(self._daemon.id, self._life, term, seconds, taken=taken)

    def _release_record(self, seen: _SeenEntry) -> LeaseRecord:
        """Free for others once our last write is visible."""
        hidden = max(self._last_write + _SETTLING_SECONDS - self._clock(), 0.0)
        return replace(self._next_record(seen), seconds=min(hidden / _FREE_AFTER, self._seconds), free=True)

    def _record_held(self, record: LeaseRecord, entry: str, begun: float) -> None:
        if not self._was_held or self._waiting:
            log.info("lease acquired term=%d daemon=%s", record.term, record.name)
            self._last_busy = begun
        self._seen = _SeenEntry(LeaseEntry(entry, record), self._clock(), 0.0, was_others=record.taken)
        renew_after = _RENEW_AFTER if record.seconds <= self._seconds else _RENEW_QUIET_AFTER
        self._held_until, self._next_contact = begun + record.seconds * _HELD_FOR, begun + record.seconds * renew_after
        self._was_held = self._remote_is_known = True
        self._waiting = False

    def _wait(self) -> None:
        record, now = self._seen.entry.record if self._seen else None, self._clock()
        if not self._waiting:
            log.info("lease held elsewhere holder=%s", record.holder if record else "unknown")
        left = self._seen.since + self._seen.wait - now if self._seen else self._retry_seconds
        self._held_until, self._next_contact, self._waiting = (
            _NEVER,
            now + min(self._retry_seconds, max(left, _MIN_RETRY_SECONDS)),
            True,
        )
