"""When trouble is not one run's own: what then waits, until when, and which run tries first whether it is over. Pure.

Rule: it follows from how turns ended and which runs rest: no restart and no new label changes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.domain.ending import Ending
from bot.domain.run import Cause, Phase, Run
from bot.domain.turn import Failure, TurnState
from bot.engine.observation import Observation

TRIPPING = 5
"""So many turns that failed alike pause a project ..."""
WITHIN_SECONDS = 3600.0
"""... if it was within this time."""
PAUSE_SECONDS = 600.0
LONGEST_PAUSE_SECONDS = 3600.0
"""The pause doubles up to this, each time the one run that may try fails."""
UNKNOWN_LIMIT_SECONDS = 900.0
"""How long a limit of the model's is taken to last when nobody says so."""
LONGEST_LIMIT_SECONDS = 8 * 86400.0
"""No limit of the model's lasts longer, whatever is said."""
CANARY_SECONDS = 600.0
"""How long others wait for a run that tries first and that we cannot see."""
CANARIES = frozenset({Cause.MODEL, Cause.LIMIT})
"""Causes that stay with a run while it tries first, until the model answers it."""

_COUNTED = {
    Failure.AGENT: "the agent fails",
    Failure.SETUP: "the setup of a turn fails",
    Failure.MODEL: "the model does not answer",
    Failure.DISK: "the disk is full",
}
"""The others have their own ways: the key and a limit stop everything at once, a budget is one issue's."""
_DAYS = ("Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday")
"""From the first day of the epoch on."""

Looked = Sequence[tuple[Run, Observation]]


@dataclass(frozen=True, slots=True)
class Brake:
    wait: str
    """Why everybody waits, for people."""
    canary: str = ""
    """The run that may go all the same, to see whether it is over."""


@dataclass(frozen=True, slots=True)
class Trip:
    """A project is paused."""

    failure: Failure
    count: int
    detail: str
    """Of the latest."""
    at: float
    pause: float
    next_try: float

    def is_due(self, now: float) -> bool:
        """Also when the clock was set back since."""
        return not now < self.next_try <= now + self.pause

    @property
    def words(self) -> str:
        latest = f" ({self.detail})" if self.detail else ""
        return f"paused, because {self.count} turns here failed alike: {_COUNTED[self.failure]}{latest}"


def find_trips(endings: Iterable[Ending]) -> Mapping[str, Trip]:
    """By project; the endings are those of all, oldest first."""
    by_project: dict[str, list[Ending]] = {}
    for ending in endings:
        by_project.setdefault(ending.project, []).append(ending)
    found = {name: find_trip(theirs) for name, theirs in by_project.items()}
    return {name: trip for name, trip in found.items() if trip}


def find_trip(endings: Iterable[Ending]) -> Trip | None:
    """Of one project, from its endings, oldest first."""
    trip, failed = None, list[Ending]()
    for ending in endings:
        if trip:
            trip = _after(trip, ending)
            failed = failed if trip else []
        elif ending.failure in _COUNTED:
            failed = [*(one for one in failed if one.at > ending.at - WITHIN_SECONDS), ending]
            alike = sum(one.failure is ending.failure for one in failed)
            if alike >= TRIPPING:
                next_try = ending.at + PAUSE_SECONDS
                trip = Trip(ending.failure, alike, ending.detail, ending.at, PAUSE_SECONDS, next_try)
    return trip


def _after(trip: Trip, ending: Ending) -> Trip | None:
    if ending.failure is Failure.NONE:
        return None
    if ending.failure not in _COUNTED:
        return trip
    if ending.failure is trip.failure:
        trip = replace(trip, count=trip.count + 1, detail=ending.detail)
    if ending.at < trip.next_try:  # it was at work already
        return trip
    pause = min(trip.pause * 2, LONGEST_PAUSE_SECONDS)
    return replace(trip, pause=pause, next_try=ending.at + pause)


def brake_of_project(
    trip: Trip | None, looked: Looked, others: Sequence[Run], candidates: Sequence[str], now: float
) -> Brake | None:
    """Runs and candidates are the project's; the first candidate is the one to try."""
    if trip is None:
        return None
    trying = [run for run in (*others, *(run for run, _ in looked)) if _in_flight(run) and run.turn_at > trip.at]
    if trip.failure is Failure.MODEL and any(_answered(run, seen, trip.at) for run, seen in looked):
        return None
    if trying:
        return Brake(f"{trip.words}; {trying[0].key} tries whether that is over")
    if not trip.is_due(now):
        return Brake(f"{trip.words}; the next try is at {clock_time(trip.next_try, now)}")
    return Brake(f"{trip.words}; the next run to start tries whether that is over", next(iter(candidates), ""))


def brake_for_all(looked: Looked, others: Sequence[Run], endings: Sequence[Ending], now: float) -> Brake | None:
    """The limit of what we may use of the model. Who rests because of it goes on one by one."""
    parked = sorted((run for run, _ in looked if _is_parked(run)), key=lambda run: (run.not_before, run.id))
    unseen = [run for run in others if _is_parked(run) and now < run.not_before]
    flying = [run for run, _ in looked if _is_trying(run)]
    flying += [run for run in others if _is_trying(run) and now < run.turn_at + CANARY_SECONDS]
    if flying:
        return Brake(f"the model's usage limit was reached; {flying[0].key} tries first whether that is over")
    if not (parked or unseen):
        return None
    until = _limit_of((*parked, *unseen))
    ready = [run for run in parked if now >= until or not run.not_before or _is_over(run, looked, endings)]
    if ready:
        return Brake(
            f"the model's usage limit was reached; {ready[0].key} tries first whether that is over", ready[0].id
        )
    return Brake(_limit_words(until, now))


def parked(run: Run, retry_at: float, now: float) -> Run:
    """It keeps its place, and nothing is counted against it."""
    until = min(retry_at, now + LONGEST_LIMIT_SECONDS) if retry_at > now else now + UNKNOWN_LIMIT_SECONDS
    return replace(run, cause=Cause.LIMIT, not_before=until, reason=_limit_words(until, now))


def in_outage(endings: Sequence[Ending], looked: Looked, trips: Iterable[Trip]) -> frozenset[str]:
    """Runs that the model failed lately, or in all while it pauses anybody, and no turn came to a good end since."""
    now = looked[0][1].now if looked else 0.0
    tripped = any(trip.failure is Failure.MODEL for trip in trips)
    since = max((ending.at for ending in endings if not ending.failure), default=0.0)
    since = since if tripped else max(since, now - WITHIN_SECONDS)
    before = {ending.run_id for ending in endings if ending.failure is Failure.MODEL and ending.at >= since}
    here = {run.id for run, seen in looked if _in_flight(run) and _fails_by_the_model(seen)}
    return frozenset(before | here)


def notices(runs: Iterable[Run], endings: Iterable[Ending], now: float) -> Mapping[str, str]:
    """What is paused, and why, as the whole house is told."""
    paused = {
        f"project {name}": f"{trip.words}; the next try is at {clock_time(trip.next_try, now)}"
        for name, trip in find_trips(endings).items()
    }
    limited = [run for run in runs if _is_parked(run) or _is_trying(run)]
    return {**paused, **({"model": _limit_words(max(_limit_of(limited), now), now)} if limited else {})}


def _limit_of(parked: Iterable[Run]) -> float:
    """Whoever asked last was told what holds for all, unless a person said since that it is to try."""
    return max(parked, key=lambda run: (run.turn_at, -run.not_before)).not_before


def clock_time(at: float, now: float) -> str:
    """On nobody's local clock; the day where it is another. Rounded up, so that nobody comes too early."""
    minutes = -int(-at // 60)
    day, minute = divmod(minutes, 24 * 60)
    named = "" if day == int(now // 86400) else f"{_DAYS[day % 7]} "
    return f"{named}{minute // 60:02}:{minute % 60:02} UTC"


def _limit_words(until: float, now: float) -> str:
    return f"the model's usage limit is reached; this goes on at {clock_time(until, now)}"


def _is_over(run: Run, looked: Looked, endings: Sequence[Ending]) -> bool:
    """Has the model answered anybody who asked after it refused this run?"""
    refused = [one.at for one in endings if (one.run_id, one.turn) == (run.id, run.turn)]
    return bool(refused) and (
        any(_answered(other, seen, refused[0]) for other, seen in looked)
        or any(not one.failure and one.begun_at > refused[0] for one in endings)
    )


def _answered(run: Run, seen: Observation, since: float) -> bool:
    return _in_flight(run) and run.turn_at > since and seen.turn.progress.tokens > 0


def _in_flight(run: Run) -> bool:
    return run.phase is Phase.WORKING and run.ended < run.turn


def _is_trying(run: Run) -> bool:
    return _in_flight(run) and run.cause is Cause.LIMIT


def _is_parked(run: Run) -> bool:
    return run.phase is Phase.WORKING and run.cause is Cause.LIMIT and run.ended == run.turn


def _fails_by_the_model(seen: Observation) -> bool:
    return seen.turn.state is TurnState.FAILED and seen.turn.failure is Failure.MODEL
