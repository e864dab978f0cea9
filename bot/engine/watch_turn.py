"""A turn is in flight: what people say is handed over, limits are kept, its end is taken in. Pure."""

from dataclasses import replace
from typing import assert_never

from bot.domain.policy import Policy
from bot.domain.run import Cause, Errand, Run
from bot.domain.turn import TurnState
from bot.engine import acknowledge as receipts
from bot.engine import authorization as consent
from bot.engine import comment_ledger as ledger
from bot.engine import prompts
from bot.engine.actions import SendMessage
from bot.engine.circuit_breaker import CANARIES
from bot.engine.decision import Decision
from bot.engine.finish_turn import BEING_ENDED, account, cancel, fail, go_on, take_in
from bot.engine.handover import still_taken
from bot.engine.observation import Observation
from bot.engine.start_turn import begin_turn


def follow(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.ended == run.turn:
        return _rest(run, seen, policy)
    turn = seen.turn
    run = replace(run, session=turn.session or turn.progress.session or run.session)
    match turn.state:
        case TurnState.RUNNING:
            return _watch(run, seen, policy)
        case TurnState.SUCCEEDED:
            decision = account(run, seen)
            return still_taken(run, take_in(decision, seen, policy), seen)
        case TurnState.FAILED:
            decision = account(run, seen)
            failed = fail(decision, seen, policy, turn.failure, turn.detail or "it gave no reason.")
            return still_taken(run, failed, seen)
        case TurnState.STOPPED | TurnState.LOST:
            return go_on(account(run, seen), seen, policy)
        case _:
            assert_never(turn.state)


def _rest(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Between two attempts: the slot is kept, the next one is due at `not_before`."""
    if seen.slot.braked:
        forgiven = 0 if seen.slot.outage else run.failures
        return Decision(replace(run, reason=seen.slot.wait, failures=forgiven))
    early = seen.now < run.not_before and run.cause is not Cause.LIMIT  # whose time the arbiter knows
    if early or not seen.slot.granted:
        return Decision(run)
    return begin_turn(run, seen, policy, after=run.reason if run.failures else "")


def _watch(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.cause in BEING_ENDED:
        return Decision(run, cancel(run))
    if late := _late(run, seen, policy):
        return Decision(replace(run, cause=Cause.LATE, reason=late), cancel(run))
    if consent.find_objection(run, seen, policy):
        return Decision(replace(run, cause=Cause.CONSENT), cancel(run))
    if run.cause in CANARIES and seen.turn.progress.tokens:
        run = replace(run, cause=Cause.NONE)
    nobody = run.errand is Errand.OFFER or seen.turn.progress.verifying_since  # no agent is there to hear it
    said = () if nobody else ledger.due(run, seen, policy)
    sent = tuple(SendMessage(run.turn, ledger.ids_of(comment), prompts.message(comment)) for comment in said)
    return Decision(ledger.hand(run, said, run.turn), (*receipts.eyes(ledger.news(run, seen, policy)), *sent))


def _late(run: Run, seen: Observation, policy: Policy) -> str:
    """Too long in all, or too long without a sign of progress while no tool is running. Verification ends by itself."""
    progress = seen.turn.progress
    if (progress.verifying_since or seen.now) - run.turn_at > policy.turn_seconds:
        return f"it reached the limit of {policy.turn_seconds / 60:g} minutes."
    quiet = seen.now - max(run.turn_at, progress.last_at)
    if quiet > policy.stall_seconds and not progress.tools_running:
        return f"it showed no progress for {policy.stall_seconds / 60:g} minutes."
    return ""
