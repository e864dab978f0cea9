"""Health monitor: checks every dependency each 15 s, stores the result, sends notifications.

Rule: it only watches. Its findings and its own failures reach no run.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.domain.health import Health, health_by_name, is_silent
from bot.domain.notification import Notification
from bot.engine.circuit_breaker import clock_time
from bot.engine.notifications import daily_budget_spent
from bot.errors import CannotStart, Retryable
from bot.notifications.health_alerts import update_health
from bot.settings.schema import Settings
from bot.status.health import HealthFindings, HealthReader
from bot.status.model_health import ModelAnswers, add_answers, model_findings
from bot.status.reader_thread import StatusReader
from bot.store.runs import RunStore
from bot.system import clock

if TYPE_CHECKING:
    from bot.notifications.notifier import Notifier
    from bot.services.http.request_counts import RequestCounts

log = logging.getLogger(__name__)

_LAST_SEND_SECONDS = 3.0
_WAIT_SECONDS = 0.05
_MISSED_POLLS = 20
_LEAST_READY_SECONDS = 600.0
"""A tick over many projects whose services do not answer takes minutes."""


@contextmanager
def open_monitor(
    settings: Settings,
    store: RunStore,
    redact: Callable[[str], str],
    request_counts: Mapping[str, "RequestCounts"],
    model_answers: Mapping[int, int],
) -> Iterator["HealthMonitor"]:
    from bot.status.build_notifier import build_notifier

    notifier = build_notifier(settings, store, redact)
    reader = StatusReader(settings)
    try:
        notifier.open()
        yield HealthMonitor(settings, store, reader, notifier, request_counts, model_answers)
    finally:
        reader.close()


@dataclass(slots=True)
class TickRecord:
    """Ticks of the loop since the start."""

    count: int = 0
    postponed: int = 0
    """Ticks that failed as a whole."""
    seconds: float = 0.0
    ended_at: float = 0.0
    """End of the last tick by the steady clock; 0 before the first."""

    def ended(self, seconds: float, *, postponed: bool) -> None:
        self.count += 1
        self.postponed += postponed
        self.seconds += seconds
        self.ended_at = clock.steady()


@dataclass(frozen=True, slots=True)
class SettingsFileState:
    """The difference between the settings file and the settings in force."""

    error: str = ""
    """Why it cannot be used."""
    waiting: Sequence[str] = ()
    """Names of changed keys that take effect after a restart."""

    def findings(self) -> HealthFindings:
        if self.error:
            return {"settings": (False, f"{self.error} The previous settings stay in force")}
        if self.waiting:
            return {"settings": (False, f"changed, and takes effect after a restart: {', '.join(self.waiting)}")}
        return {}


@dataclass(slots=True)
class HealthMonitor:
    settings: Settings
    store: RunStore
    reader: StatusReader
    notifier: "Notifier"
    request_counts: Mapping[str, "RequestCounts"]
    """Keyed by service."""
    model_answers: Mapping[int, int]
    """Number of the model's answers, by HTTP status."""
    next_poll: float = 0.0
    """Time of the next poll, if no news comes before."""
    ticks: TickRecord = field(default_factory=TickRecord)
    file: SettingsFileState = field(default_factory=SettingsFileState)
    _model: ModelAnswers = field(default_factory=ModelAnswers)
    _day_notified: float = field(default=-1.0)

    async def is_ready(self) -> bool:
        """True if ticks end and the database can be written. A service that does not answer changes nothing.

        The database is asked in a thread, on a connection of its own: a busy file must not hold up the loop.
        """
        longest = max(_MISSED_POLLS * self.settings.poll.interval, _LEAST_READY_SECONDS)
        if not self.ticks.ended_at or clock.steady() - self.ticks.ended_at >= longest:
            return False
        try:
            return await self.reader.read(lambda reader: reader.store.is_writable())
        except CannotStart:
            return False

    def send_notifications(self) -> None:
        try:
            self.notifier.send_due()
        except Retryable as problem:
            log.warning("notification postponed reason=%s", problem)

    async def send_last(self) -> None:
        """Gives notifications that are being sent a little more time."""
        until = clock.steady() + _LAST_SEND_SECONDS
        self.send_notifications()
        while self.notifier.is_sending() and clock.steady() < until:  # noqa: ASYNC110 - a thread ends it
            await asyncio.sleep(_WAIT_SECONDS)
        try:
            self.notifier.close()
        except Retryable as problem:
            log.warning("notification result not stored reason=%s", problem)

    def forget_old(self) -> None:
        try:
            self.store.notifications.forget_old(clock.now())
        except Retryable as problem:
            log.warning("old notifications kept reason=%s", problem)

    async def check(self, unreachable: Mapping[str, str]) -> None:
        """`unreachable`: by project, why the last tick could not read it."""
        try:
            await self._check(unreachable)
        except (Retryable, CannotStart, OSError) as problem:
            log.warning("health check failed reason=%s", problem)

    async def _check(self, unreachable: Mapping[str, str]) -> None:
        now = clock.now()
        self._model = add_answers(self._model, self.model_answers, now)
        spent, stored = await self.reader.read(lambda reader: _read_stored(reader, now))
        live = {**self._polls(unreachable, now), **self._channels(), **self._quotas(), **model_findings(self._model)}
        live |= self.file.findings()
        found = [*stored, *health_by_name(live).values()]
        before = self.store.notifications.health_records()
        silent = {name for name in (*before, *(one.name for one in found)) if is_silent(name)}
        after, notifications = update_health(before, found, now, silent=silent)
        notifications = [*notifications, *self._spent_day(spent, now)]
        if notifications or {one.health.name: one for one in after} != before:
            self.store.notifications.save_health(after, notifications)

    def _polls(self, unreachable: Mapping[str, str], now: float) -> HealthFindings:
        soon = f"the next poll is at {clock_time(self.next_poll, now)}" if self.next_poll else "polled"
        names = [project.name for project in self.settings.projects]
        return {f"poll {name}": (name not in unreachable, unreachable.get(name, soon)) for name in names}

    def _channels(self) -> HealthFindings:
        states = {f"notify {name}": state for name, state in self.notifier.channels()}
        return {
            name: (not state.problem, state.problem or f"{state.sent} messages were sent")
            for name, state in states.items()
        }

    def _quotas(self) -> HealthFindings:
        lines = {
            name: ", ".join(f"{left:.0f} {limit}" for limit, left in counts.remaining.items())
            for name, counts in self.request_counts.items()
        }
        return {f"rate limit {name}": (True, f"requests left: {line}") for name, line in lines.items() if line}

    def _spent_day(self, spent: float, now: float) -> Sequence[Notification]:
        day = clock.day_of(now)
        if day == self._day_notified:
            return ()
        found = daily_budget_spent(spent, self.settings.budget.per_day_usd, day, now)
        self._day_notified = day if found else self._day_notified
        return found


def _read_stored(reader: HealthReader, now: float) -> tuple[float, Sequence[Health]]:
    """Dollars spent today, and the health that needs no running daemon."""
    spent = reader.store.spent(since=clock.day_of(now))
    return spent, tuple(reader.read(reader.store.active(), spent, now).values())
