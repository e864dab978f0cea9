"""Decides a run's next step from its stored state and one observation.

Rule: pure. No awaits, no clock, no randomness, no logging. A behaviour that can be described in a sentence is a branch
here, or in the module it is delegated to, and a row in tests/engine/test_decide.py.
"""

from dataclasses import replace
from typing import assert_never

from bot.domain.comment import CommentPlace
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequestState
from bot.domain.run import CLOSED, MERGED, Phase, Run, WaitReason
from bot.domain.turn import Failure, TurnReport, TurnState
from bot.engine import acknowledge, authorization, comment_ledger, stuck
from bot.engine.actions import Action, CancelTurn, PostComment, RemoveBranch, RemoveWorkspace, SalvageWork, StartTurn
from bot.engine.ask_human import ask_after
from bot.engine.ci_and_conflicts import watch_pull_request
from bot.engine.commands import run_command
from bot.engine.decision import Decision
from bot.engine.finish_turn import (
    CANCEL_REASONS,
    cancel_turn,
    keep_finished_work,
    keep_paused,
    on_failure,
    record_spend,
)
from bot.engine.handover import keep_taken
from bot.engine.issue_status import render_end, render_status
from bot.engine.messages import question_comment
from bot.engine.observation import Observation
from bot.engine.start_turn import begin_turn
from bot.engine.watch_turn import watch
from bot.text.quote_untrusted import neutralize


def decide(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.phase is Phase.DONE:
        return render_end(run, seen, policy)
    decision = stuck.take_back(render_status(_judge(run, seen, policy), seen, policy))
    if seen.next_turn and not any(isinstance(action, StartTurn) for action in decision.actions):
        return _give_up(run, seen, seen.next_turn)
    return decision


def _give_up(run: Run, seen: Observation, begun: TurnReport) -> Decision:
    """Ends a turn that was started but is no longer wanted, and records its cost."""
    taken = replace(
        run, turns=replace(run.turns, number=run.turns.number + 1, started_at=begun.progress.last_event_at or seen.now)
    )
    if begun.state is TurnState.RUNNING:
        return Decision(run, (CancelTurn(taken.turns.number),))
    return record_spend(taken, replace(seen, turn=begun))


def _judge(run: Run, seen: Observation, policy: Policy) -> Decision:
    if ending := _end_reason(run, seen, policy):
        return _finish(run, seen, policy, ending)
    silent = acknowledge.ack_seen(comment_ledger.wordless(run, seen))
    decision = _move(comment_ledger.record_ignored(authorization.with_request(run, seen), seen, policy), seen, policy)
    return replace(decision, actions=(*silent, *decision.actions))


def _move(run: Run, seen: Observation, policy: Policy) -> Decision:
    being_ended = run.phase is Phase.WORKING and run.wait_reason in CANCEL_REASONS
    if not being_ended and (orders := comment_ledger.pending_commands(run, seen, policy)):
        return run_command(run, seen, policy, orders[0])
    match run.phase:
        case Phase.QUEUED:
            return _start(run, seen, policy)
        case Phase.WORKING:
            return watch(run, seen, policy)
        case Phase.REVIEW | Phase.ASKING:
            return _listen(run, seen, policy)
        case Phase.DONE:
            return Decision(run)
        case _:
            assert_never(run.phase)


# The end


def _end_reason(run: Run, seen: Observation, policy: Policy) -> str:
    """Returns the reason for the end of the run; empty if it continues."""
    if seen.pull_request and seen.pull_request.state is PullRequestState.MERGED:
        return MERGED
    if seen.pull_request and seen.pull_request.state is PullRequestState.CLOSED:
        return CLOSED
    if run.wait_reason is WaitReason.STOPPED:
        return "stopped by command"
    if seen.issue is None:
        return "the issue is gone"
    if not seen.issue.open:
        return "the issue was closed"
    if policy.label not in seen.issue.labels and not run.reopened:
        return f"the label `{policy.label}` was removed"
    return ""


def _finish(run: Run, seen: Observation, policy: Policy, reason: str) -> Decision:
    """Ends the run; work is salvaged before it is removed."""
    if cancel_turn(run) and seen.turn.state is TurnState.RUNNING:
        return Decision(run, cancel_turn(run))  # the last report of the turn contains its cost
    ended = record_spend(run, seen) if cancel_turn(run) else Decision(run)
    done = replace(comment_ledger.close_all(ended.run, seen, policy, reason), request=_last_request(run, seen))
    merged = seen.pull_request is not None and seen.pull_request.state is PullRequestState.MERGED
    actions: tuple[Action, ...] = (
        *((SalvageWork(tell=seen.issue is not None), RemoveWorkspace()) if run.turns.number else ()),
        *((RemoveBranch(),) if merged else ()),
        *_farewell(run, seen, policy, reason),
    )
    return ended.then(done.to(Phase.DONE, reason=reason, now=seen.now), *actions)


def _farewell(run: Run, seen: Observation, policy: Policy, reason: str) -> tuple[Action, ...]:
    """A pull request that stays open invites no comments that nobody reads."""
    if seen.pull_request is None or seen.pull_request.state is not PullRequestState.OPEN:
        return ()
    has_issue = seen.issue is not None and seen.issue.open
    text = question_comment.ended_beside_pull(reason, policy.label, has_issue=has_issue)
    return (PostComment(CommentPlace.PULL_REQUEST, f"ended-{run.turns.number}", text),)


def _last_request(run: Run, seen: Observation) -> str:
    """Returns the newest request, so that a lagging label starts no second run."""
    return (seen.issue.request if seen.issue else "") or run.request


# Waiting for Treehand, or for people


def _start(run: Run, seen: Observation, policy: Policy) -> Decision:
    if objection := authorization.find_objection(run, seen, policy):
        return authorization.block_on(Decision(run), seen, policy, objection)
    if not seen.slot.granted:
        return Decision(
            replace(run, reason=seen.slot.reason), acknowledge.ack_seen(comment_ledger.new_comments(run, seen, policy))
        )
    return begin_turn(run, seen, policy)


def _listen(run: Run, seen: Observation, policy: Policy) -> Decision:
    if seen.slot.granted:
        return begin_turn(run, seen, policy)
    if seen.slot.paused and run.phase is Phase.REVIEW:
        run = replace(run, reason=seen.slot.reason)
    if run.phase is Phase.REVIEW and (objection := authorization.object_to_comments(run, seen, policy)):
        return authorization.block_on(Decision(run), seen, policy, objection)
    if run.wait_reason is WaitReason.CONSENT and (reconsidered := authorization.reconsider(run, seen, policy)):
        return reconsidered
    return watch_pull_request(
        Decision(run, acknowledge.ack_seen(comment_ledger.new_comments(run, seen, policy))), seen, policy
    )


# Problems, and shutdown


def ask_for_help(run: Run, seen: Observation, policy: Policy, reason: str, *, once: bool = False) -> Decision:
    """Asks a person, or `once` for the same reason. The loop also calls this when an action is refused.

    A turn that runs is ended first: only its last report says what it has cost.
    """
    if run.has_turn_in_flight and seen.turn.state is TurnState.RUNNING:
        is_ending = run.wait_reason in CANCEL_REASONS
        ending = run if is_ending else replace(run, wait_reason=WaitReason.FAILED, reason=neutralize(reason))
        return Decision(ending, cancel_turn(run))
    decision = record_spend(run, seen) if run.has_turn_in_flight else Decision(run)
    asking = ask_after(decision, seen, policy, WaitReason.FAILED, neutralize(reason), about=reason if once else "")
    return render_status(keep_taken(run, asking, seen), seen, policy)


def send_back_to_agent(run: Run, seen: Observation, policy: Policy, reason: str) -> Decision:
    """Repeats the turn because publishing failed in a way that the agent has to fix."""
    if not cancel_turn(run):
        return ask_for_help(run, seen, policy, reason)
    again = on_failure(record_spend(run, seen), seen, policy, Failure.AGENT, reason)
    return render_status(keep_paused(run, keep_taken(run, again, seen), seen), seen, policy)


def park(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Keeps the place of a run whose turn the shutdown interrupts; it continues after the restart."""
    if seen.turn.state in {TurnState.SUCCEEDED, TurnState.FAILED} or run.wait_reason in CANCEL_REASONS:
        return decide(run, seen, policy)
    decision = keep_finished_work(record_spend(run, seen), seen)
    session = seen.turn.session or seen.turn.progress.session or run.session
    reason = "Treehand is restarting; the run continues afterwards"
    return render_status(decision.then(replace(decision.run, session=session, reason=reason)), seen, policy)
