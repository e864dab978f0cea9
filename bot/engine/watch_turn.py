"""Watches a turn in flight: delivers comments, enforces time limits, takes in its end. Pure."""

from dataclasses import replace
from typing import assert_never

from bot.domain.policy import Policy
from bot.domain.run import Run, TurnPurpose, WaitReason
from bot.domain.turn import TurnState
from bot.engine import acknowledge, authorization, comment_ledger, prompts
from bot.engine.actions import SendMessage
from bot.engine.circuit_breaker import PROBE_REASONS
from bot.engine.decision import Decision
from bot.engine.finish_turn import (
    CANCEL_REASONS,
    cancel_turn,
    keep_paused,
    on_failure,
    on_interrupted,
    on_success,
    record_spend,
)
from bot.engine.handover import keep_taken
from bot.engine.observation import Observation
from bot.engine.start_turn import begin_turn


def watch(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.turns.ended == run.turns.number:
        return _between_turns(run, seen, policy)
    turn = seen.turn
    run = replace(run, session=turn.session or turn.progress.session or run.session)
    match turn.state:
        case TurnState.RUNNING:
            return _watch_running(run, seen, policy)
        case TurnState.SUCCEEDED:
            ended = on_success(record_spend(run, seen), seen, policy)
            return keep_paused(run, keep_taken(run, ended, seen), seen)
        case TurnState.FAILED:
            decision = record_spend(run, seen)
            failed = on_failure(decision, seen, policy, turn.failure, turn.detail or "no reason was given.")
            return keep_paused(run, keep_taken(run, failed, seen), seen)
        case TurnState.STOPPED | TurnState.LOST:
            return on_interrupted(record_spend(run, seen), seen, policy)
        case _:
            assert_never(turn.state)


def _between_turns(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Waits for the next attempt, due at `not_before`; the slot is kept."""
    if seen.slot.paused:
        forgiven = 0 if seen.slot.outage else run.turns.failures
        return Decision(replace(run, reason=seen.slot.reason, turns=replace(run.turns, failures=forgiven)))
    early = (
        seen.now < run.turns.not_before and run.wait_reason is not WaitReason.USAGE_LIMIT
    )  # `schedule` knows when this run continues
    if early or not seen.slot.granted:
        return Decision(run)
    return begin_turn(run, seen, policy, after=run.reason if run.turns.failures else "")


def _watch_running(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.wait_reason in CANCEL_REASONS:
        return Decision(run, cancel_turn(run))
    if late := _overdue_reason(run, seen, policy):
        return Decision(replace(run, wait_reason=WaitReason.OVERDUE, reason=late), cancel_turn(run))
    if authorization.find_objection(run, seen, policy):
        return Decision(replace(run, wait_reason=WaitReason.CONSENT), cancel_turn(run))
    if run.wait_reason in PROBE_REASONS and seen.turn.progress.tokens:
        run = replace(run, wait_reason=WaitReason.NONE)
    nobody = (
        run.purpose is TurnPurpose.PUBLISH or seen.turn.progress.verifying_since
    )  # no agent is working that could read comments
    due = () if nobody else comment_ledger.due_comments(run, seen, policy)
    sent = tuple(
        SendMessage(run.turns.number, comment_ledger.ids_of(comment), prompts.message(comment)) for comment in due
    )
    return Decision(
        comment_ledger.assign(run, due, run.turns.number),
        (*sent, *acknowledge.ack_seen(comment_ledger.new_comments(run, seen, policy))),
    )


def _overdue_reason(run: Run, seen: Observation, policy: Policy) -> str:
    """Returns the limit that the turn exceeded: of its time, or of time without progress while no tool runs."""
    progress = seen.turn.progress
    if (progress.verifying_since or seen.now) - run.turns.started_at > policy.turn_seconds:
        return f"it reached the limit of {policy.turn_seconds / 60:g} minutes."
    quiet = seen.now - max(run.turns.started_at, progress.last_event_at)
    if quiet > policy.stall_seconds and not progress.tools_running:
        return f"it showed no progress for {policy.stall_seconds / 60:g} minutes."
    return ""
