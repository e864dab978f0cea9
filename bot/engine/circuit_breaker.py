"""Circuit breaker: pauses a project after repeated failures and lets one run probe for recovery. Pure.

Rule: the state follows from turn outcomes and waiting runs alone: no restart and no new label changes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.domain.run import Phase, Run, WaitReason
from bot.domain.turn import Failure, TurnOutcome, TurnState
from bot.engine.observation import Observation

FAILURES_TO_PAUSE = 5
"""Turns with the same failure that pause a project ..."""
WITHIN_SECONDS = 3600.0
"""... if they happened within this time."""
PAUSE_SECONDS = 600.0
LONGEST_PAUSE_SECONDS = 3600.0
"""The pause doubles up to this each time the probe run fails."""
UNKNOWN_LIMIT_SECONDS = 900.0
"""Assumed length of a usage limit without an end."""
LONGEST_LIMIT_SECONDS = 8 * 86400.0
"""Longest usage limit that is believed."""
PROBE_SECONDS = 600.0
"""Time that others wait for a probe run of a project that cannot be polled."""
KEY_ADVICE = (
    "put a valid key into `ANTHROPIC_API_KEY`, or a subscription's token into `CLAUDE_CODE_OAUTH_TOKEN`, or either "
    "into the file that `agent.key_file` names, and restart the daemon"
)
PROBE_REASONS = frozenset({WaitReason.KEY_REFUSED, WaitReason.USAGE_LIMIT})
"""Wait reasons that a probe run keeps until the model answers it."""

_COUNTED = {
    Failure.AGENT: "the agent fails",
    Failure.SETUP: "the setup of a turn fails",
    Failure.MODEL: "the model does not answer",
    Failure.DISK: "the disk is full",
}
"""Failures that open the breaker. The key and a usage limit stop all runs at once; a budget concerns one issue."""
_DAYS = ("Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday")
"""Weekdays, beginning with the first day of the epoch."""

RunsSeen = Sequence[tuple[Run, Observation]]


@dataclass(frozen=True, slots=True)
class ProjectPause:
    reason: str
    """Reason why the project's runs wait, for people."""
    probe_run: str = ""
    """Id of the run that may start as a probe."""


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """An open breaker: the project is paused."""

    failure: Failure
    count: int
    detail: str
    """Detail of the latest failure."""
    at: float
    pause: float
    next_try: float

    def is_due(self, now: float) -> bool:
        """Returns True also if the clock was set back in the meantime."""
        return not now < self.next_try <= now + self.pause

    @property
    def reason(self) -> str:
        latest = f" ({self.detail})" if self.detail else ""
        return f"paused after {self.count} turns failed in the same way: {_COUNTED[self.failure]}{latest}"


def find_breakers(outcomes: Iterable[TurnOutcome]) -> Mapping[str, CircuitBreaker]:
    """Returns open breakers by project; the outcomes are those of all projects, oldest first."""
    by_project: dict[str, list[TurnOutcome]] = {}
    for outcome in outcomes:
        by_project.setdefault(outcome.project, []).append(outcome)
    found = {name: find_breaker(theirs) for name, theirs in by_project.items()}
    return {name: breaker for name, breaker in found.items() if breaker}


def find_breaker(outcomes: Iterable[TurnOutcome]) -> CircuitBreaker | None:
    """Returns the breaker of one project, from its outcomes, oldest first."""
    breaker, failed = None, list[TurnOutcome]()
    for outcome in outcomes:
        if breaker:
            breaker = _after(breaker, outcome)
            failed = failed if breaker else []
        elif outcome.failure in _COUNTED:
            failed = [*(one for one in failed if one.at > outcome.at - WITHIN_SECONDS), outcome]
            alike = sum(one.failure is outcome.failure for one in failed)
            if alike >= FAILURES_TO_PAUSE:
                next_try = outcome.at + PAUSE_SECONDS
                breaker = CircuitBreaker(outcome.failure, alike, outcome.detail, outcome.at, PAUSE_SECONDS, next_try)
    return breaker


def _after(breaker: CircuitBreaker, outcome: TurnOutcome) -> CircuitBreaker | None:
    if outcome.failure is Failure.NONE:
        return None
    if outcome.failure not in _COUNTED:
        return breaker
    if outcome.failure is breaker.failure:
        breaker = replace(breaker, count=breaker.count + 1, detail=outcome.detail)
    if outcome.at < breaker.next_try:  # the turn had started before
        return breaker
    pause = min(breaker.pause * 2, LONGEST_PAUSE_SECONDS)
    return replace(breaker, pause=pause, next_try=outcome.at + pause)


def pause_of_project(
    breaker: CircuitBreaker | None, looked: RunsSeen, others: Sequence[Run], candidates: Sequence[str], now: float
) -> ProjectPause | None:
    """Runs and candidates are the project's; the first candidate probes."""
    if breaker is None:
        return None
    trying = [
        run for run in (*others, *(run for run, _ in looked)) if _in_flight(run) and run.turns.started_at > breaker.at
    ]
    if breaker.failure is Failure.MODEL and any(_answered(run, seen, breaker.at) for run, seen in looked):
        return None
    if trying:
        return ProjectPause(f"{breaker.reason}; {trying[0].key} runs as a probe")
    if not breaker.is_due(now):
        return ProjectPause(f"{breaker.reason}; the next probe is at {clock_time(breaker.next_try, now)}")
    return ProjectPause(f"{breaker.reason}; the next run to start is a probe", next(iter(candidates), ""))


def pause_for_all(
    looked: RunsSeen, others: Sequence[Run], outcomes: Sequence[TurnOutcome], now: float
) -> ProjectPause | None:
    """Returns the pause for the model's usage limit. Runs that wait for it continue one by one."""
    parked = sorted((run for run, _ in looked if _waits_for_limit(run)), key=lambda run: (run.turns.not_before, run.id))
    unseen = [run for run in others if _waits_for_limit(run) and now < run.turns.not_before]
    flying = [run for run, _ in looked if _is_probing(run)]
    flying += [run for run in others if _is_probing(run) and now < run.turns.started_at + PROBE_SECONDS]
    if flying:
        return ProjectPause(f"the model's usage limit was reached; {flying[0].key} runs as a probe")
    if not (parked or unseen):
        return None
    until = _limit_end((*parked, *unseen))
    ready = [
        run for run in parked if now >= until or not run.turns.not_before or has_answered_since(run, looked, outcomes)
    ]
    if ready:
        return ProjectPause(f"the model's usage limit was reached; {ready[0].key} runs as a probe", ready[0].id)
    return ProjectPause(_limit_words(until, now))


def wait_for_limit(run: Run, retry_at: float, now: float) -> Run:
    """Keeps the run's place and counts no failure."""
    until = min(retry_at, now + LONGEST_LIMIT_SECONDS) if retry_at > now else now + UNKNOWN_LIMIT_SECONDS
    return replace(
        run,
        wait_reason=WaitReason.USAGE_LIMIT,
        turns=replace(run.turns, not_before=until),
        reason=_limit_words(until, now),
    )


def in_outage(outcomes: Sequence[TurnOutcome], looked: RunsSeen, breakers: Iterable[CircuitBreaker]) -> frozenset[str]:
    """Returns runs with a recent model failure, or any while a breaker is open, and no successful turn since."""
    now = looked[0][1].now if looked else 0.0
    is_open = any(breaker.failure is Failure.MODEL for breaker in breakers)
    since = max((outcome.at for outcome in outcomes if not outcome.failure), default=0.0)
    since = since if is_open else max(since, now - WITHIN_SECONDS)
    before = {outcome.run_id for outcome in outcomes if outcome.failure is Failure.MODEL and outcome.at >= since}
    here = {run.id for run, seen in looked if _in_flight(run) and _fails_by_the_model(seen)}
    return frozenset(before | here)


def pause_reasons(runs: Iterable[Run], outcomes: Iterable[TurnOutcome], now: float) -> Mapping[str, str]:
    """Returns reasons by `project NAME`; by `model` if the model refuses us, because of a usage limit or the key."""
    runs, outcomes = list(runs), list(outcomes)
    paused = {
        f"project {name}": f"{breaker.reason}; the next probe is at {clock_time(breaker.next_try, now)}"
        for name, breaker in find_breakers(outcomes).items()
    }
    limited = [run for run in runs if _waits_for_limit(run) or _is_probing(run)]
    asking = [run for run in runs if run.wait_reason is WaitReason.KEY_REFUSED and run.phase is Phase.ASKING]
    refused = [run for run in asking if not has_answered_since(run, (), outcomes)]
    limit = {"model": _limit_words(max(_limit_end(limited), now), now)} if limited else {}
    key = {"model": f"it refuses the key, as {refused[0].key} shows; {KEY_ADVICE}"} if refused else {}
    return {**paused, **limit, **key}


def _limit_end(parked: Iterable[Run]) -> float:
    """Uses the run that was refused last, unless a person ordered a retry since: its limit holds for all."""
    return max(parked, key=lambda run: (run.turns.started_at, -run.turns.not_before)).turns.not_before


def clock_time(at: float, now: float) -> str:
    """Formats a time in UTC, with the weekday if it is another day; rounded up to the minute."""
    minutes = -int(-at // 60)
    day, minute = divmod(minutes, 24 * 60)
    named = "" if day == int(now // 86400) else f"{_DAYS[day % 7]} "
    return f"{named}{minute // 60:02}:{minute % 60:02} UTC"


def _limit_words(until: float, now: float) -> str:
    return f"the model's usage limit is reached; the run continues at {clock_time(until, now)}"


def has_answered_since(run: Run, looked: RunsSeen, outcomes: Sequence[TurnOutcome]) -> bool:
    """Returns True if the model has answered any run since it refused this run."""
    refused = [one.at for one in outcomes if (one.run_id, one.turn) == (run.id, run.turns.number)]
    return bool(refused) and (
        any(_answered(other, seen, refused[0]) for other, seen in looked)
        or any(not one.failure and one.begun_at > refused[0] for one in outcomes)
    )


def _answered(run: Run, seen: Observation, since: float) -> bool:
    return _in_flight(run) and run.turns.started_at > since and seen.turn.progress.tokens > 0


def _in_flight(run: Run) -> bool:
    return run.has_turn_in_flight


def _is_probing(run: Run) -> bool:
    return _in_flight(run) and run.wait_reason is WaitReason.USAGE_LIMIT


def _waits_for_limit(run: Run) -> bool:
    return run.is_between_turns and run.wait_reason is WaitReason.USAGE_LIMIT


def _fails_by_the_model(seen: Observation) -> bool:
    return seen.turn.state is TurnState.FAILED and seen.turn.failure is Failure.MODEL
