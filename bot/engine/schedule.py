"""The arbiter: which runs may have a turn now, and why the others wait. Pure; nothing else may start anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.domain.ending import Ending
from bot.domain.issue_directives import clauses_of, overlap
from bot.domain.policy import Policy
from bot.domain.run import Cause, Errand, Phase, Run
from bot.domain.turn import Failure, TurnState
from bot.engine.ask_human import DEAF
from bot.engine.authorization import find_objection, words_of
from bot.engine.ci_and_conflicts import errand_for
from bot.engine.circuit_breaker import Looked, Trip, brake_for_all, brake_of_project, find_trips, in_outage
from bot.engine.comment_ledger import due
from bot.engine.model_choice import unusable
from bot.engine.observation import Observation, Slot
from bot.engine.queue_estimate import IN_QUEUE


@dataclass(frozen=True, slots=True)
class Capacity:
    """What all projects share."""

    working: int
    per_day_usd: float = 0.0
    spent_today_usd: float = 0.0
    disk: str = ""
    """What there is too little of; empty: nothing."""


def schedule(
    looked: Sequence[tuple[Run, Observation]],
    others: Sequence[Run],
    policies: Mapping[str, Policy],
    capacity: Capacity,
    endings: Sequence[Ending] = (),
) -> Mapping[str, Slot]:
    """A slot for every run in `looked`. `others` cannot be judged now: still being carried out, or out of sight.

    `endings` are those of turns, oldest first, as far back as they matter.
    """
    everyone = [*others, *(run for run, _ in looked)]
    spokesman = _spokesman(looked, everyone)
    working = [*(run for run in everyone if run.phase is Phase.WORKING), *(run for run, seen in looked if seen.begun)]
    slots: dict[str, Slot] = {}
    owned = {run.id: _owned(run, seen) for run, seen in looked}
    ahead = 0
    looked = sorted(looked, key=lambda pair: _order(pair[0], pair[1], policies[pair[0].project]))
    trips = find_trips(endings)
    braked = _braked(looked, others, policies, endings, trips)
    for run, seen in looked:
        if not spokesman and run.id in braked:
            slots[run.id] = Slot(wait=braked[run.id], braked=True)
        elif run.phase is Phase.WORKING:
            slots[run.id] = _slot_of_a_working(run, spokesman)
        elif not wants_turn(run, seen, policies[run.project]):
            slots[run.id] = Slot(wait=_blocked(run, seen))
        elif run.id == spokesman:
            slots[run.id] = Slot(granted=True)
            working.append(run)
        else:
            wait = (
                ""
                if seen.begun
                else (
                    _hold(capacity, spokesman)
                    or _wait(run, seen, working, policies[run.project], capacity, ahead)
                    or _overlapping(run, seen, working, owned, policies[run.project])
                )
            )
            slots[run.id] = Slot(granted=not wait, wait=wait, ahead=ahead)
            working += [] if wait or seen.begun else [run]
            ahead += wait.startswith(IN_QUEUE)
    failed = in_outage(endings, looked, trips.values())
    return {run: replace(slot, outage=bool(failed - {run})) for run, slot in slots.items()}


def wants_turn(run: Run, seen: Observation, policy: Policy) -> bool:
    match run.phase:
        case Phase.QUEUED:
            return find_objection(run, seen, policy) is None and not _blocked(run, seen)
        case Phase.REVIEW:
            return errand_for(run, seen, policy) is not Errand.NONE or bool(due(run, seen, policy))
        case Phase.ASKING if run.cause is Cause.MODEL:
            return seen.now >= run.not_before or bool(due(run, seen, policy))
        case Phase.ASKING if run.cause is Cause.CHOICE:
            return not unusable(run, seen, policy)
        case Phase.ASKING if run.cause in DEAF:
            return False
        case Phase.ASKING:
            return bool(due(run, seen, policy))
        case Phase.WORKING | Phase.DONE:
            return False


def may_go_on(runs: Sequence[Run]) -> bool:
    """Is any of them at work, or will be without anybody's help?"""
    refused = any(run.cause is Cause.MODEL and run.phase is Phase.ASKING for run in runs)
    return any(run.phase is Phase.WORKING and (run.ended < run.turn or not refused) for run in runs)


def _order(run: Run, seen: Observation, policy: Policy) -> tuple[bool, int, float, str]:
    issue = seen.issue
    urgent = issue is not None and f"{policy.label}:now" in issue.labels
    return (not urgent, (issue.priority if issue else 0) or 5, issue.created_at if issue else 0.0, run.id)


def _slot_of_a_working(run: Run, spokesman: str) -> Slot:
    if spokesman and run.id != spokesman:
        return Slot(wait=_KEY_REFUSED, silent=True)
    return Slot(granted=True)


def _wait(run: Run, seen: Observation, working: Sequence[Run], policy: Policy, capacity: Capacity, ahead: int) -> str:
    """Why this run must wait; empty when it need not."""
    if seen.now < run.not_before:
        return f"trying again in {run.not_before - seen.now:.0f} s"
    if len(working) >= capacity.working:
        return f"{IN_QUEUE}: {_agents(len(working))} at work, {ahead} ahead of this one"
    here = sum(run.project == other.project for other in working)
    if here >= policy.working_per_project:
        return f"{IN_QUEUE}: {_agents(here)} at work on {run.project}, {ahead} ahead of this one"
    return ""


def _blocked(run: Run, seen: Observation) -> str:
    """Only what has not begun waits for others."""
    keys = seen.issue.blocked_by if seen.issue and run.phase is Phase.QUEUED else ()
    return f"blocked by {', '.join(keys)}" if keys else ""


def _owned(run: Run, seen: Observation) -> tuple[str, ...]:
    return clauses_of(run.key, words_of(run, seen.issue).body).owns if seen.issue else ()


def _overlapping(
    run: Run, seen: Observation, working: Sequence[Run], owned: Mapping[str, tuple[str, ...]], policy: Policy
) -> str:
    """Only what has not begun waits for others; and where one is busy, it is asked again in a moment."""
    ours = owned[run.id] if run.phase is Phase.QUEUED else ()
    if not ours or (seen.issue and f"{policy.label}:anyway" in seen.issue.labels):
        return ""
    there = (other for other in working if other.project == run.project and other.id != run.id)
    return next((f"overlaps {other.key}" for other in there if overlap(ours, owned.get(other.id, ("",)))), "")


def _braked(
    looked: Looked,
    others: Sequence[Run],
    policies: Mapping[str, Policy],
    endings: Sequence[Ending],
    trips: Mapping[str, Trip],
) -> Mapping[str, str]:
    """Who waits for trouble to pass that is not its own, and why. Whom a person told to try does not."""
    now = looked[0][1].now if looked else 0.0
    for_all = brake_for_all(looked, others, endings, now)
    if not (for_all or trips):
        return {}
    resting = [run for run, _ in looked if _rests(run)]
    wanting = [run for run, seen in looked if wants_turn(run, seen, policies[run.project])]
    waits: dict[str, str] = {}
    for name in {run.project for run, _ in looked}:
        ready = [run.id for run in (*resting, *wanting) if run.project == name and run.not_before <= now]
        here = [pair for pair in looked if pair[0].project == name]
        away = [run for run in others if run.project == name]
        brake = for_all or brake_of_project(trips.get(name), here, away, ready, now)
        for run in (*resting, *wanting):
            if brake and run.project == name and run.id != brake.canary and run.cause is not Cause.RETRY:
                waits[run.id] = brake.wait
    return waits


def _rests(run: Run) -> bool:
    return run.phase is Phase.WORKING and run.ended == run.turn


def _agents(count: int) -> str:
    return "1 agent is" if count == 1 else f"{count} agents are"


_KEY_REFUSED = "waiting: the model refuses our key"


def _hold(capacity: Capacity, spokesman: str) -> str:
    """What keeps anything new from starting."""
    if spokesman:
        return _KEY_REFUSED
    if capacity.per_day_usd and capacity.spent_today_usd >= capacity.per_day_usd:
        return f"today's budget of ${capacity.per_day_usd:.2f} is spent"
    return capacity.disk


def _spokesman(looked: Sequence[tuple[Run, Observation]], everyone: Sequence[Run]) -> str:
    """The one run that speaks up, and later tries again, when the model refuses our key; the others wait."""
    speaking = sorted(run.id for run in everyone if run.cause is Cause.MODEL and run.phase is not Phase.DONE)
    refused = sorted(
        run.id
        for run, seen in looked
        if run.phase is Phase.WORKING
        and run.ended < run.turn
        and seen.turn.state is TurnState.FAILED
        and seen.turn.failure is Failure.KEY
    )
    return next(iter(speaking or refused), "")
