"""The heart of the bot: given what we remember and what we see, what now?

Pure. No awaits, no clock, no randomness, no logging. If a behaviour can be described in a sentence, it is a branch
here and a row in tests/engine/test_decide.py.
"""

from dataclasses import replace
from typing import assert_never

from bot.domain.comment import Outcome, Place
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequestState
from bot.domain.run import Cause, Phase, Run
from bot.domain.spend import Spend
from bot.domain.turn import Failure, TurnState
from bot.engine import ledger, messages, prompts, receipts
from bot.engine.actions import (
    Action,
    CancelTurn,
    OfferPullRequest,
    PushBranch,
    RemoveBranch,
    RemoveWorkspace,
    SalvageWork,
    Say,
    SendMessage,
    StartTurn,
)
from bot.engine.commands import PAUSED, obey
from bot.engine.decision import Decision
from bot.engine.observation import Observation
from bot.engine.portrait import portray

KEY_RETRY_SECONDS = 300.0
"""How often one run tries whether the model takes our key again."""
_ENDING = {Cause.PAUSED, Cause.LATE}
"""Why a running turn is being ended; what then happens to the run follows from it."""
BACKOFF_SECONDS = 10.0
BACKOFF_LIMIT = 300.0


def decide(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.phase is Phase.DONE:
        return Decision(run)
    return portray(_judge(run, seen, policy), seen, policy)


def _judge(run: Run, seen: Observation, policy: Policy) -> Decision:
    if ending := _ending(run, seen, policy):
        return _finish(run, seen, ending)
    being_ended = run.phase is Phase.WORKING and run.cause in _ENDING
    if not being_ended and (orders := ledger.orders(run, seen, policy)):
        return obey(run, seen, policy, orders[0])
    match run.phase:
        case Phase.QUEUED:
            return _start(run, seen, policy)
        case Phase.WORKING:
            return _follow(run, seen, policy)
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
    if _cancel(run) and seen.turn.state is TurnState.RUNNING:
        return Decision(run, _cancel(run))  # its last report brings the bill
    ended = _account(run, seen) if _cancel(run) else Decision(run)
    merged = seen.pull_request is not None and seen.pull_request.state is PullRequestState.MERGED
    actions: tuple[Action, ...] = (
        *((SalvageWork(tell=seen.issue is not None), RemoveWorkspace()) if run.turn else ()),
        *((RemoveBranch(),) if merged else ()),
    )
    return ended.then(ended.run.to(Phase.DONE, reason=reason, now=seen.now), *actions)


def _cancel(run: Run) -> tuple[CancelTurn, ...]:
    return (CancelTurn(run.turn),) if run.phase is Phase.WORKING and run.ended < run.turn else ()


# Waiting for us, or for people


def _start(run: Run, seen: Observation, policy: Policy) -> Decision:
    if not seen.slot.granted:
        return Decision(replace(run, reason=seen.slot.wait), receipts.eyes(ledger.news(run, seen, policy)))
    return _begin_turn(run, seen, policy)


def _listen(run: Run, seen: Observation, policy: Policy) -> Decision:
    if seen.slot.granted:
        return _begin_turn(run, seen, policy)
    return Decision(run, receipts.eyes(ledger.news(run, seen, policy)))


# A turn begins


def _begin_turn(run: Run, seen: Observation, policy: Policy, *, after: str = "") -> Decision:
    """Start the next turn in the same session, with everything the agent has not surely heard."""
    assert seen.issue
    allowed = run.budget_usd or policy.per_issue_usd
    if allowed and seen.spent_usd >= allowed:
        return _ask(run, seen, policy, Cause.BUDGET, messages.over_budget(seen.spent_usd, allowed, policy))
    told = (*ledger.unsettled(run, seen), *ledger.news(run, seen, policy))
    number = run.turn + 1
    start = StartTurn(
        number=number,
        prompt=prompts.try_again(after, told) if after else prompts.follow_up(told),
        briefing=prompts.briefing(seen.issue, tuple(comment for comment in seen.comments if comment.author.trusted)),
        session=run.session,
        comments=tuple(comment.id for comment in told),
        commit_message=messages.commit_message(run, seen.issue, told),
        budget_usd=max(allowed - seen.spent_usd, 0.0) if allowed else 0.0,
    )
    canary = Cause.MODEL if run.cause is Cause.MODEL else Cause.NONE
    begun = replace(run, turn=number, turn_at=seen.now, not_before=0.0).to(Phase.WORKING, cause=canary, now=seen.now)
    return Decision(ledger.hand(begun, told, number), (*receipts.eyes(told), start))


# A turn is in flight


def _follow(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.ended == run.turn:
        return _rest(run, seen, policy)
    turn = seen.turn
    run = replace(run, session=turn.session or turn.progress.session or run.session)
    match turn.state:
        case TurnState.RUNNING:
            return _watch(run, seen, policy)
        case TurnState.SUCCEEDED:
            decision = _account(run, seen)
            return _take_in(decision, seen, policy)
        case TurnState.FAILED:
            decision = _account(run, seen)
            return _fail(decision, seen, policy, turn.failure, turn.detail or "it gave no reason.")
        case TurnState.STOPPED | TurnState.LOST:
            return _go_on(_account(run, seen), seen, policy)
        case _:
            assert_never(turn.state)


def _rest(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Between two attempts: the slot is kept, the next one is due at `not_before`."""
    if seen.now < run.not_before or not seen.slot.granted:
        return Decision(run)
    return _begin_turn(run, seen, policy, after=run.reason if run.failures else "")


def _watch(run: Run, seen: Observation, policy: Policy) -> Decision:
    if run.cause in _ENDING:
        return Decision(run, _cancel(run))
    if late := _late(run, seen, policy):
        return Decision(replace(run, cause=Cause.LATE, reason=late), _cancel(run))
    if run.cause is Cause.MODEL and seen.turn.progress.tokens:
        run = replace(run, cause=Cause.NONE)
    said = ledger.news(run, seen, policy)
    sent = tuple(SendMessage(run.turn, comment.id, prompts.message(comment)) for comment in said)
    return Decision(ledger.hand(run, said, run.turn), (*receipts.eyes(said), *sent))


def _late(run: Run, seen: Observation, policy: Policy) -> str:
    """Too long in all, or too long without a sign of progress while no tool is running."""
    progress = seen.turn.progress
    if seen.now - run.turn_at > policy.turn_seconds:
        return f"it reached the limit of {policy.turn_seconds / 60:g} minutes."
    quiet = seen.now - max(run.turn_at, progress.last_at)
    if quiet > policy.stall_seconds and not progress.tools_running:
        return f"it showed no progress for {policy.stall_seconds / 60:g} minutes."
    return ""


# A turn has ended


def _account(run: Run, seen: Observation) -> Decision:
    """Take the bill in. A resumed session's cost is cumulative, so money spent is the difference."""
    turn = seen.turn
    before = 0.0 if turn.fresh else run.session_cost_usd
    usd = max(turn.session_cost_usd - before, 0.0)
    run = replace(
        run,
        ended=run.turn,
        session=turn.session or run.session,
        session_cost_usd=max(turn.session_cost_usd, before),
        spent_usd=run.spent_usd + usd,
        tokens=run.tokens + turn.tokens,
    )
    notice = (Say(Place.ISSUE, f"session-{run.turn}", messages.session_lost()),) if turn.fresh else ()
    spend = None if turn.state is TurnState.LOST else Spend(run.turn, seen.now, usd, turn.tokens)
    return Decision(run, notice, spend)


def _take_in(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The agent is content. What it changed is offered, what it was told is answered."""
    assert seen.issue
    run, turn = replace(decision.run, failures=0, losses=0), seen.turn
    change = turn.change
    commit = change.head if change and change.head != change.before else ""
    handed = ledger.unsettled(run, seen)
    run = ledger.settle(run, turn.heard, Outcome.APPLIED if commit else Outcome.ANSWERED, commit)
    heard = tuple(comment for comment in handed if comment.id in turn.heard)
    replies: tuple[Action, ...] = (*receipts.rockets(heard), *receipts.replies(run, heard, turn, commit))
    if turn.question:
        return _ask_after(decision.then(run, *replies), seen, policy, Cause.QUESTION, messages.question(turn.question))
    if change is None or change.head == change.base:
        nothing = messages.nothing_changed(turn.words)
        return _ask_after(decision.then(run, *replies), seen, policy, Cause.NO_CHANGE, nothing)
    title, body = messages.pull_request_title(seen.issue), messages.pull_request_body(run, turn)
    return decision.then(run.to(Phase.REVIEW, now=seen.now), PushBranch(), OfferPullRequest(title, body), *replies)


def _go_on(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The turn was ended by us, or vanished with its process. The work and the session are there."""
    run = decision.run
    match run.cause:
        case Cause.PAUSED:
            return decision.then(run.to(Phase.ASKING, reason=PAUSED, cause=Cause.PAUSED, now=seen.now))
        case Cause.LATE:
            return _retry_or_ask(decision, seen, policy, run.reason)
        case _:
            return _recover(decision, seen, policy)


def _recover(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    run = replace(decision.run, losses=decision.run.losses + 1)
    if run.losses >= policy.losses:
        tired = f"The work was interrupted {run.losses} times without coming to an end."
        return _ask_after(decision.then(run), seen, policy, Cause.FAILED, tired)
    return decision.then(replace(run, cause=Cause.NONE))


def _fail(decision: Decision, seen: Observation, policy: Policy, failure: Failure, detail: str) -> Decision:
    run = replace(decision.run, ended=decision.run.turn)
    match failure:
        case Failure.KEY if seen.slot.silent:
            return decision.then(replace(run, not_before=seen.now + BACKOFF_SECONDS, reason=seen.slot.wait))
        case Failure.KEY:
            run = replace(run, not_before=seen.now + KEY_RETRY_SECONDS)
            return _ask_after(decision.then(run), seen, policy, Cause.MODEL, messages.asks_for_key(detail))
        case Failure.BUDGET:
            allowed = run.budget_usd or policy.per_issue_usd
            spent = seen.spent_usd + (decision.spend.usd if decision.spend else 0.0)
            text = messages.over_budget(spent, allowed, policy)
            return _ask_after(decision.then(run), seen, policy, Cause.BUDGET, text)
        case _:
            return _retry_or_ask(decision.then(run), seen, policy, detail)


def _retry_or_ask(decision: Decision, seen: Observation, policy: Policy, detail: str) -> Decision:
    failures = decision.run.failures + 1
    pause = min(BACKOFF_SECONDS * 2 ** (failures - 1), BACKOFF_LIMIT)
    run = replace(decision.run, failures=failures, reason=detail, cause=Cause.NONE)
    if failures >= policy.failures:
        return _ask_after(decision.then(run), seen, policy, Cause.FAILED, messages.gave_up(failures, detail))
    return decision.then(replace(run, not_before=seen.now + pause))


# Asking


def ask_for_help(run: Run, seen: Observation, policy: Policy, reason: str) -> Decision:
    """Hand the ball to a person. Also where the loop turns when an action is refused."""
    cancel = _cancel(run)
    decision = _account(run, seen) if cancel else Decision(run)
    return portray(_ask_after(decision.then(decision.run, *cancel), seen, policy, Cause.FAILED, reason), seen, policy)


def _ask(run: Run, seen: Observation, policy: Policy, cause: Cause, text: str) -> Decision:
    return _ask_after(Decision(run), seen, policy, cause, text)


def _ask_after(decision: Decision, seen: Observation, policy: Policy, cause: Cause, text: str) -> Decision:
    """Ask once, in a comment of its own: an edited one would notify nobody."""
    asking = decision.run.to(Phase.ASKING, reason=messages.first_line(text), cause=cause, now=seen.now)
    say = Say(Place.ISSUE, f"ask-{asking.turn}-{cause}".replace(" ", "-"), messages.asks(text, policy))
    return decision.then(replace(asking, ended=asking.turn), say)


# The daemon goes down


def park(run: Run, seen: Observation, policy: Policy) -> Decision:
    """Keep the place of a run whose turn is being interrupted by our own shutdown; it goes on after the restart."""
    if seen.turn.state in {TurnState.SUCCEEDED, TurnState.FAILED} or run.cause in _ENDING:
        return decide(run, seen, policy)
    decision = _account(run, seen)
    session = seen.turn.session or seen.turn.progress.session or run.session
    reason = "treehand is restarting; this goes on afterwards"
    return portray(decision.then(replace(decision.run, session=session, reason=reason)), seen, policy)
