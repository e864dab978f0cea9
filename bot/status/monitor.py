"""Looks after the house while a daemon runs: how everything is, left where anybody may read it, and who must be told.

Rule: it only watches. Nothing that it finds, and nothing that goes wrong with it, reaches a run.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.domain.health import Health, healths, is_silent
from bot.domain.notification import Tiding
from bot.engine.circuit_breaker import clock_time
from bot.engine.notifications import day_is_spent
from bot.errors import CannotStart, Retryable
from bot.notifications.health_alerts import looked_after
from bot.settings import Settings
from bot.status.model_health import Answers, health_of, heard
from bot.status.reading import Reader
from bot.status.snapshot import House
from bot.store.runs import RunStore
from bot.system import clock

if TYPE_CHECKING:
    from bot.notifications.notifier import Crier
    from bot.services.http.request_counts import Tally

log = logging.getLogger(__name__)

_LAST_WORDS_SECONDS = 3.0
_A_MOMENT = 0.05
_LOOKS_MISSED = 20
_LEAST_PATIENCE_SECONDS = 600.0
"""A look at many projects whose services keep silent takes minutes."""

Found = Mapping[str, tuple[bool, str]]


@contextmanager
def watching(
    settings: Settings,
    store: RunStore,
    redact: Callable[[str], str],
    tallies: Mapping[str, "Tally"],
    counted: Mapping[int, int],
) -> Iterator["Vitals"]:
    """`counted` are the answers of the model's service, by status."""
    from bot.status.notify import crier_of

    crier = crier_of(settings, store, redact)
    reader = Reader(settings)
    try:
        crier.open()
        yield Vitals(settings, store, reader, crier, tallies, counted)
    finally:
        reader.close()


@dataclass(slots=True)
class Ticks:
    """How the loop has fared since the start."""

    count: int = 0
    postponed: int = 0
    """Those that came to nothing as a whole."""
    seconds: float = 0.0
    ended_at: float = 0.0
    """The last one, by the steady clock; 0: there was none."""

    def ended(self, seconds: float, *, postponed: bool) -> None:
        self.count += 1
        self.postponed += postponed
        self.seconds += seconds
        self.ended_at = clock.steady()


@dataclass(slots=True)
class Vitals:
    settings: Settings
    store: RunStore
    reader: Reader
    crier: "Crier"
    tallies: Mapping[str, "Tally"]
    """By service."""
    counted: Mapping[int, int]
    """Answers of the model's service, by status."""
    next_look: float = 0.0
    """When projects are looked at next, if nobody wakes us before."""
    ticks: Ticks = field(default_factory=Ticks)
    _answers: Answers = field(default_factory=Answers)
    _day_told: float = field(default=-1.0)

    def is_ready(self) -> bool:
        """Can work be done here? That depends on us alone: a service that is away makes nobody unready.

        A look that came to nothing was a look; one that never ends was none.
        """
        longest = max(_LOOKS_MISSED * self.settings.poll.interval, _LEAST_PATIENCE_SECONDS)
        return bool(self.ticks.ended_at) and clock.steady() - self.ticks.ended_at < longest and self.store.is_writable()

    def tell(self) -> None:
        """People, of what has happened. What cannot be noted is tried again."""
        try:
            self.crier.go_round()
        except Retryable as problem:
            log.warning("told nobody reason=%s", problem)

    async def last_words(self) -> None:
        """What is being told gets a little more time; of what has not arrived then, nobody knows."""
        until = clock.steady() + _LAST_WORDS_SECONDS
        self.tell()
        while self.crier.is_sending() and clock.steady() < until:  # noqa: ASYNC110 - a thread ends it
            await asyncio.sleep(_A_MOMENT)
        try:
            self.crier.close()
        except Retryable as problem:
            log.warning("what was told is not noted reason=%s", problem)

    def forget_old(self) -> None:
        try:
            self.store.tidings.forget_old(clock.now())
        except Retryable as problem:
            log.warning("forgot nothing reason=%s", problem)

    async def take(self, away: Mapping[str, str]) -> None:
        """`away`: why projects could not be looked at the last time."""
        try:
            await self._take(away)
        except (Retryable, CannotStart, OSError) as problem:
            log.warning("nobody knows how everything is reason=%s", problem)

    async def _take(self, away: Mapping[str, str]) -> None:
        now = clock.now()
        self._answers = heard(self._answers, self.counted, now)
        spent, of_the_house = await self.reader.read(lambda house: _of_the_house(house, now))
        live = {**self._looks(away, now), **self._channels(), **self._quotas(), **health_of(self._answers)}
        found = [*of_the_house, *healths(live).values()]
        before = self.store.tidings.ailments()
        silent = {name for name in (*before, *(one.name for one in found)) if is_silent(name)}
        after, tidings = looked_after(before, found, now, silent=silent)
        tidings = [*tidings, *self._spent_day(spent, now)]
        if tidings or {one.health.name: one for one in after} != before:
            self.store.tidings.note(after, tidings)

    def _looks(self, away: Mapping[str, str], now: float) -> Found:
        soon = f"the next look is at {clock_time(self.next_look, now)}" if self.next_look else "looked"
        names = [project.name for project in self.settings.projects]
        return {f"look {name}": (name not in away, away.get(name, soon)) for name in names}

    def _channels(self) -> Found:
        said = {f"notify {name}": state for name, state in self.crier.channels()}
        return {
            name: (not state.problem, state.problem or f"{state.sent} messages were sent")
            for name, state in said.items()
        }

    def _quotas(self) -> Found:
        lines = {
            name: ", ".join(f"{left:.0f} {what}" for what, left in one.left.items())
            for name, one in self.tallies.items()
        }
        return {f"quota {name}": (True, f"left for now: {line}") for name, line in lines.items() if line}

    def _spent_day(self, spent: float, now: float) -> Sequence[Tiding]:
        day = clock.day_of(now)
        if day == self._day_told:
            return ()
        found = day_is_spent(spent, self.settings.budget.per_day_usd, day, now)
        self._day_told = day if found else self._day_told
        return found


def _of_the_house(house: House, now: float) -> tuple[float, Sequence[Health]]:
    """What was spent today, and how everything is."""
    spent = house.store.spent(since=clock.day_of(now))
    return spent, tuple(house.health(house.store.active(), spent, now).values())
