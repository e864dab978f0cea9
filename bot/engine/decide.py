"""The heart of the bot: given what we remember and what we see, what now?

Pure. No awaits, no clock, no randomness, no logging. If a behaviour can be described in a sentence, it is a branch
here, or in the module it is handed to, and a row in tests/engine/test_decide.py.
"""

from dataclasses import replace
from typing import assert_never

from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequestState
from bot.domain.run import Cause, Phase, Run
from bot.domain.turn import TurnState
from bot.engine import ledger, receipts
from bot.engine.actions import Action, RemoveBranch, RemoveWorkspace, SalvageWork
from bot.engine.asking import ask_after
from bot.engine.beginning import begin_turn
from bot.engine.commands import obey
from bot.engine.decision import Decision
from bot.engine.following import follow
from bot.engine.observation import Observation
from bot.engine.outcome import BEING_ENDED, account, cancel
from bot.engine.portrait import portray


def decide(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.phase is Phase.DONE:
        return Decision(run)
    return portray(_judge(run, seen, policy), seen, policy)


def _judge(run: Run, seen: Observation, policy: Policy) -> Decision:
    if ending := _ending(run, seen, policy):
        return _finish(run, seen, ending)
    being_ended = run.phase is Phase.WORKING and run.cause in BEING_ENDED
    if not being_ended and (orders := ledger.orders(run, seen, policy)):
        return obey(run, seen, policy, orders[0])
    match run.phase:
        case Phase.QUEUED:
            return _start(run, seen, policy)
        case Phase.WORKING:
            return follow(run, seen, policy)
        case Phase.REVIEW | Phase.ASKING:
            return _listen(run, seen, policy)
        case Phase.DONE:
            return Decision(run)
        case _:
            assert_never(run.phase)


# The end


def _ending(run: Run, seen: Observation, policy: Policy) -> str:
    """Why it is over, if it is."""
    if seen.pull_request and seen.pull_request.state is PullRequestState.MERGED:
        return "the pull request was merged"
    if seen.pull_request and seen.pull_request.state is PullRequestState.CLOSED:
        return "the pull request was closed"
    if run.cause is Cause.STOPPED:
        return "stopped by command"
    if seen.issue is None:
        return "the issue is gone"
    if not seen.issue.open:
        return "the issue was closed"
    if policy.label not in seen.issue.labels:
        return f"the label `{policy.label}` was removed"
    return ""


def _finish(run: Run, seen: Observation, reason: str) -> Decision:
    """Nothing is destroyed before it is salvaged."""
    if cancel(run) and seen.turn.state is TurnState.RUNNING:
        return Decision(run, cancel(run))  # its last report brings the bill
    ended = account(run, seen) if cancel(run) else Decision(run)
    merged = seen.pull_request is not None and seen.pull_request.state is PullRequestState.MERGED
    actions: tuple[Action, ...] = (
        *((SalvageWork(tell=seen.issue is not None), RemoveWorkspace()) if run.turn else ()),
        *((RemoveBranch(),) if merged else ()),
    )
    return ended.then(ended.run.to(Phase.DONE, reason=reason, now=seen.now), *actions)


# Waiting for us, or for people


def _start(run: Run, seen: Observation, policy: Policy) -> Decision:
    if not seen.slot.granted:
        return Decision(replace(run, reason=seen.slot.wait), receipts.eyes(ledger.news(run, seen, policy)))
    return begin_turn(run, seen, policy)


def _listen(run: Run, seen: Observation, policy: Policy) -> Decision:
    if seen.slot.granted:
        return begin_turn(run, seen, policy)
    return Decision(run, receipts.eyes(ledger.news(run, seen, policy)))


# Trouble, and the daemon going down


def ask_for_help(run: Run, seen: Observation, policy: Policy, reason: str) -> Decision:
    """Hand the ball to a person. Also where the loop turns when an action is refused."""
    ending = cancel(run)
    decision = account(run, seen) if ending else Decision(run)
    return portray(ask_after(decision.then(decision.run, *ending), seen, policy, Cause.FAILED, reason), seen, policy)


def park(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Keep the place of a run whose turn is being interrupted by our own shutdown; it goes on after the restart."""
    if seen.turn.state in {TurnState.SUCCEEDED, TurnState.FAILED} or run.cause in BEING_ENDED:
        return decide(run, seen, policy)
    decision = account(run, seen)
    session = seen.turn.session or seen.turn.progress.session or run.session
    reason = "treehand is restarting; this goes on afterwards"
    return portray(decision.then(replace(decision.run, session=session, reason=reason)), seen, policy)
