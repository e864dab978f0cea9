"""The heart of the bot: given what we remember and what we see, what now?

Pure. No awaits, no clock, no randomness, no logging. If a behaviour can be described in a sentence, it is a branch
here, or in the module it is handed to, and a row in tests/engine/test_decide.py.
"""

from dataclasses import replace
from typing import assert_never

from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequestState
from bot.domain.run import MERGED, Cause, Phase, Run
from bot.domain.turn import Failure, TurnReport, TurnState
from bot.engine import acknowledge as receipts
from bot.engine import authorization as consent
from bot.engine import comment_ledger as ledger
from bot.engine.actions import Action, CancelTurn, RemoveBranch, RemoveWorkspace, SalvageWork, StartTurn
from bot.engine.ask_human import ask_after
from bot.engine.ci_and_conflicts import look_after
from bot.engine.commands import obey
from bot.engine.decision import Decision
from bot.engine.finish_turn import BEING_ENDED, account, cancel, fail
from bot.engine.handover import still_taken
from bot.engine.issue_status import portray
from bot.engine.observation import Observation
from bot.engine.start_turn import begin_turn
from bot.engine.watch_turn import follow
from bot.text.quote_untrusted import harmless


def decide(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.phase is Phase.DONE:
        return Decision(run)
    decision = portray(_judge(run, seen, policy), seen, policy)
    if seen.begun and not any(isinstance(action, StartTurn) for action in decision.actions):
        return _give_up(run, seen, seen.begun)
    return decision


def _give_up(run: Run, seen: Observation, begun: TurnReport) -> Decision:
    """A turn that was begun, and is not wanted any more before it was noted, is ended first, and paid for."""
    taken = replace(run, turn=run.turn + 1, turn_at=begun.progress.last_at or seen.now)
    if begun.state is TurnState.RUNNING:
        return Decision(run, (CancelTurn(taken.turn),))
    return account(taken, replace(seen, turn=begun))


def _judge(run: Run, seen: Observation, policy: Policy) -> Decision:
    if ending := _ending(run, seen, policy):
        return _finish(run, seen, policy, ending)
    silent = receipts.eyes(ledger.silent(run, seen))
    decision = _move(ledger.pass_over(consent.with_request(run, seen), seen, policy), seen, policy)
    return replace(decision, actions=(*silent, *decision.actions))


def _move(run: Run, seen: Observation, policy: Policy) -> Decision:
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
        return MERGED
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


def _finish(run: Run, seen: Observation, policy: Policy, reason: str) -> Decision:
    """Nothing is destroyed before it is salvaged."""
    if cancel(run) and seen.turn.state is TurnState.RUNNING:
        return Decision(run, cancel(run))  # its last report brings the bill
    ended = account(run, seen) if cancel(run) else Decision(run)
    done = replace(ledger.conclude(ended.run, seen, policy, reason), request=_last_request(run, seen))
    merged = seen.pull_request is not None and seen.pull_request.state is PullRequestState.MERGED
    actions: tuple[Action, ...] = (
        *((SalvageWork(tell=seen.issue is not None), RemoveWorkspace()) if run.turn else ()),
        *((RemoveBranch(),) if merged else ()),
    )
    return ended.then(done.to(Phase.DONE, reason=reason, now=seen.now), *actions)


def _last_request(run: Run, seen: Observation) -> str:
    """Whatever was asked up to now has had its answer: a label that lags behind starts nothing."""
    return (seen.issue.request if seen.issue else "") or run.request


# Waiting for us, or for people


def _start(run: Run, seen: Observation, policy: Policy) -> Decision:
    if objection := consent.find_objection(run, seen, policy):
        return consent.object_to(Decision(run), seen, policy, objection)
    if not seen.slot.granted:
        return Decision(replace(run, reason=seen.slot.wait), receipts.eyes(ledger.news(run, seen, policy)))
    return begin_turn(run, seen, policy)


def _listen(run: Run, seen: Observation, policy: Policy) -> Decision:
    if seen.slot.granted:
        return begin_turn(run, seen, policy)
    if seen.slot.braked and run.phase is Phase.REVIEW:
        run = replace(run, reason=seen.slot.wait)
    if run.cause is Cause.CONSENT and (reconsidered := consent.reconsider(run, seen, policy)):
        return reconsidered
    return look_after(Decision(run, receipts.eyes(ledger.news(run, seen, policy))), seen, policy)


# Trouble, and the daemon going down


def ask_for_help(run: Run, seen: Observation, policy: Policy, reason: str) -> Decision:
    """Hand the ball to a person. Also where the loop turns when an action is refused."""
    ending = cancel(run)
    decision = account(run, seen) if ending else Decision(run)
    asked = ask_after(decision.then(decision.run, *ending), seen, policy, Cause.FAILED, harmless(reason))
    return portray(still_taken(run, asked, seen), seen, policy)


def let_the_agent_see(run: Run, seen: Observation, policy: Policy, reason: str) -> Decision:
    """Offering what a turn made showed something that another turn has to mend."""
    if not cancel(run):
        return ask_for_help(run, seen, policy, reason)
    again = fail(account(run, seen), seen, policy, Failure.AGENT, reason)
    return portray(still_taken(run, again, seen), seen, policy)


def park(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Keep the place of a run whose turn is being interrupted by our own shutdown; it goes on after the restart."""
    if seen.turn.state in {TurnState.SUCCEEDED, TurnState.FAILED} or run.cause in BEING_ENDED:
        return decide(run, seen, policy)
    decision = account(run, seen)
    session = seen.turn.session or seen.turn.progress.session or run.session
    reason = "treehand is restarting; this goes on afterwards"
    return portray(decision.then(replace(decision.run, session=session, reason=reason)), seen, policy)
