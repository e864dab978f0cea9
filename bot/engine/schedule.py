"""Scheduler: grants slots to runs, and says why the others wait. Pure.

Rule: no other module may start a turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.domain.issue_directives import overlap, parse_directives
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, TurnPurpose, WaitReason
from bot.domain.turn import Failure, TurnOutcome, TurnState
from bot.engine.ask_human import NOT_WOKEN_BY_COMMENTS
from bot.engine.authorization import effective_issue, find_objection
from bot.engine.ci_and_conflicts import purpose_for
from bot.engine.circuit_breaker import (
    CircuitBreaker,
    RunsSeen,
    find_breakers,
    has_answered_since,
    in_outage,
    pause_for_all,
    pause_of_project,
)
from bot.engine.comment_ledger import due_comments
from bot.engine.model_choice import why_invalid
from bot.engine.observation import Observation, Slot
from bot.engine.queue_estimate import IN_QUEUE
from bot.text.money import dollars


@dataclass(frozen=True, slots=True)
class Capacity:
    """Limits that all projects share."""

    working: int
    per_day_usd: float = 0.0
    spent_today_usd: float = 0.0
    disk: str = ""
    """Reason why there is too little disk space; empty if there is enough."""


def schedule(
    looked: Sequence[tuple[Run, Observation]],
    others: Sequence[Run],
    policies: Mapping[str, Policy],
    capacity: Capacity,
    outcomes: Sequence[TurnOutcome] = (),
) -> Mapping[str, Slot]:
    """Returns a slot for each run in `looked`. `others` are busy or cannot be polled now.

    `outcomes` are those of turns, oldest first, as far back as they matter.
    """
    everyone = [*others, *(run for run, _ in looked)]
    prober = _key_prober(looked, everyone, outcomes)
    working = _working(everyone, looked)
    slots: dict[str, Slot] = {}
    owned = {run.id: _owned(run, seen) for run, seen in looked}
    ahead = 0
    looked = sorted(looked, key=lambda pair: _order(pair[0], pair[1], policies[pair[0].project]))
    breakers = find_breakers(outcomes)
    paused_runs = _paused_runs(looked, others, policies, outcomes, breakers)
    for run, seen in looked:
        if not prober and run.id in paused_runs:
            slots[run.id] = Slot(reason=paused_runs[run.id], paused=True)
        elif run.phase is Phase.WORKING:
            slots[run.id] = _slot_of_a_working(run, prober)
        elif not wants_turn(run, seen, policies[run.project]):
            slots[run.id] = Slot(reason=_blocked(run, seen))
        elif run.id == prober:
            slots[run.id] = Slot(granted=True)
            working.append(run)
        else:
            wait = (
                ""
                if seen.next_turn
                else (
                    _why_nothing_starts(capacity, prober)
                    or _wait(run, seen, working, policies[run.project], capacity, ahead)
                    or _overlapping(run, seen, working, owned, policies[run.project])
                )
            )
            slots[run.id] = Slot(granted=not wait, reason=wait, ahead=ahead)
            working += [] if wait or seen.next_turn else [run]
            ahead += wait.startswith(IN_QUEUE)
    failed = in_outage(outcomes, looked, breakers.values())
    return {run: replace(slot, outage=bool(failed - {run})) for run, slot in slots.items()}


def _working(everyone: Sequence[Run], looked: RunsSeen) -> list[Run]:
    started = (run for run, seen in looked if seen.next_turn)
    return [*(run for run in everyone if run.phase is Phase.WORKING), *started]


def wants_turn(run: Run, seen: Observation, policy: Policy) -> bool:
    match run.phase:
        case Phase.QUEUED:
            return find_objection(run, seen, policy) is None and not _blocked(run, seen)
        case Phase.REVIEW:
            return purpose_for(run, seen, policy) is not TurnPurpose.NONE or bool(due_comments(run, seen, policy))
        case Phase.ASKING:
            return _wants_to_go_on(run, seen, policy)
        case Phase.WORKING | Phase.DONE:
            return False


def _wants_to_go_on(run: Run, seen: Observation, policy: Policy) -> bool:
    match run.wait_reason:
        case WaitReason.KEY_REFUSED:
            return seen.now >= run.turns.not_before or bool(due_comments(run, seen, policy))
        case WaitReason.DAY_BUDGET:
            return True
        case WaitReason.MODEL_CHOICE:
            return not why_invalid(run, seen, policy)
        case reason if reason in NOT_WOKEN_BY_COMMENTS:
            return False
        case _:
            return bool(due_comments(run, seen, policy))


def may_go_on(runs: Sequence[Run]) -> bool:
    """Returns True if a run works, or will without a person's help."""
    refused = any(run.wait_reason is WaitReason.KEY_REFUSED and run.phase is Phase.ASKING for run in runs)
    return any(run.has_turn_in_flight or (run.is_between_turns and not refused) for run in runs)


def _order(run: Run, seen: Observation, policy: Policy) -> tuple[bool, int, float, str]:
    issue = seen.issue
    urgent = issue is not None and f"{policy.label}:now" in issue.labels
    return (not urgent, (issue.priority if issue else 0) or 5, issue.created_at if issue else 0.0, run.id)


def _slot_of_a_working(run: Run, prober: str) -> Slot:
    if prober and run.id != prober:
        return Slot(reason=_KEY_REFUSED, reported_elsewhere=True)
    return Slot(granted=True)


def _wait(run: Run, seen: Observation, working: Sequence[Run], policy: Policy, capacity: Capacity, ahead: int) -> str:
    """Returns the reason why this run must wait; empty if it may start."""
    if seen.now < run.turns.not_before:
        return f"trying again in {run.turns.not_before - seen.now:.0f} s"
    if len(working) >= capacity.working:
        return f"{IN_QUEUE}: {_agents(len(working))} working, {ahead} ahead of this one"
    here = sum(run.project == other.project for other in working)
    if here >= policy.max_working_per_project:
        return f"{IN_QUEUE}: {_agents(here)} working on {run.project}, {ahead} ahead of this one"
    return ""


def _blocked(run: Run, seen: Observation) -> str:
    """Only queued runs wait for other issues, and for the tracker to tell who asked."""
    if seen.issue and seen.issue.unvouched and run.phase is Phase.QUEUED:
        return seen.issue.unvouched
    keys = seen.issue.blocked_by if seen.issue and run.phase is Phase.QUEUED else ()
    return f"blocked by {', '.join(keys)}" if keys else ""


def _owned(run: Run, seen: Observation) -> tuple[str, ...]:
    return parse_directives(run.key, effective_issue(run, seen.issue).body).owns if seen.issue else ()


def _overlapping(
    run: Run, seen: Observation, working: Sequence[Run], owned: Mapping[str, tuple[str, ...]], policy: Policy
) -> str:
    """Only queued runs wait for runs that change the same paths."""
    ours = owned[run.id] if run.phase is Phase.QUEUED else ()
    if not ours or (seen.issue and f"{policy.label}:anyway" in seen.issue.labels):
        return ""
    there = (other for other in working if other.project == run.project and other.id != run.id)
    return next((f"overlaps {other.key}" for other in there if overlap(ours, owned.get(other.id, ("",)))), "")


def _paused_runs(
    looked: RunsSeen,
    others: Sequence[Run],
    policies: Mapping[str, Policy],
    outcomes: Sequence[TurnOutcome],
    breakers: Mapping[str, CircuitBreaker],
) -> Mapping[str, str]:
    """Returns reasons of paused runs. A run with a person's retry is not paused."""
    now = looked[0][1].now if looked else 0.0
    for_all = pause_for_all(looked, others, outcomes, now)
    if not (for_all or breakers):
        return {}
    resting = [run for run, _ in looked if _is_between_turns(run)]
    wanting = [run for run, seen in looked if wants_turn(run, seen, policies[run.project])]
    waits: dict[str, str] = {}
    for name in {run.project for run, _ in looked}:
        ready = [run.id for run in (*resting, *wanting) if run.project == name and run.turns.not_before <= now]
        here = [pair for pair in looked if pair[0].project == name]
        away = [run for run in others if run.project == name]
        pause = for_all or pause_of_project(breakers.get(name), here, away, ready, now)
        for run in (*resting, *wanting):
            if pause and run.project == name and run.id != pause.probe_run and run.wait_reason is not WaitReason.RETRY:
                waits[run.id] = pause.reason
    return waits


def _is_between_turns(run: Run) -> bool:
    return run.is_between_turns


def _agents(count: int) -> str:
    return "1 agent is" if count == 1 else f"{count} agents are"


_KEY_REFUSED = "waiting: the model's service refuses the key"


def _why_nothing_starts(capacity: Capacity, prober: str) -> str:
    """Returns the reason why no run may start."""
    if prober:
        return _KEY_REFUSED
    if capacity.per_day_usd and capacity.spent_today_usd >= capacity.per_day_usd:
        return f"today's budget of {dollars(capacity.per_day_usd)} is spent"
    return capacity.disk


def _key_prober(
    looked: Sequence[tuple[Run, Observation]], everyone: Sequence[Run], outcomes: Sequence[TurnOutcome]
) -> str:
    """Returns the run that asks, and later probes, when the model's service refuses the key; the others wait.

    No run waits for one that was refused before the model answered another: then the key is not the reason.
    """
    speaking = sorted(
        run.id
        for run in everyone
        if run.wait_reason is WaitReason.KEY_REFUSED
        and run.phase is not Phase.DONE
        and not has_answered_since(run, looked, outcomes)
    )
    refused = sorted(
        run.id
        for run, seen in looked
        if run.has_turn_in_flight and seen.turn.state is TurnState.FAILED and seen.turn.failure is Failure.KEY
    )
    return next(iter(speaking or refused), "")
