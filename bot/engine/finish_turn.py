"""A turn has ended: the bill is paid, the work is offered, people are answered; or it is tried again. Pure."""

from dataclasses import replace

from bot.domain.comment import Place
from bot.domain.ending import Ending
from bot.domain.extent import extent_of
from bot.domain.issue_directives import clauses_of
from bot.domain.policy import Policy
from bot.domain.run import Cause, Errand, Phase, Run
from bot.domain.spend import Spend, Spent
from bot.domain.turn import Failure, TurnReport, TurnState
from bot.engine import (
    acknowledge as receipts,
)
from bot.engine import (
    authorization as consent,
)
from bot.engine import (
    budget,
)
from bot.engine import (
    ci_and_conflicts as mending,
)
from bot.engine import (
    circuit_breaker as brakes,
)
from bot.engine import (
    comment_ledger as ledger,
)
from bot.engine import (
    handover as handing,
)
from bot.engine import (
    plan_first as planning,
)
from bot.engine import (
    publish_approval as holding,
)
from bot.engine import (
    verify_result as verifying,
)
from bot.engine.actions import Action, CancelTurn, OfferPullRequest, PushBranch, Say
from bot.engine.ask_human import ask_after
from bot.engine.commands import PAUSED
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.messages import replies as answers
from bot.engine.observation import Observation
from bot.text.visible import on_one_line

KEY_RETRY_SECONDS = 300.0
"""How often one run tries whether the model takes our key again."""
BEING_ENDED = {Cause.PAUSED, Cause.TAKEN, Cause.LATE, Cause.CONSENT}
"""Why a running turn is being ended; what then happens to the run follows from it."""
REFUSALS_KEPT = 20
BACKOFF_SECONDS = 10.0
BACKOFF_LIMIT = 300.0
DETAIL_LETTERS = 200


def cancel(run: Run) -> tuple[CancelTurn, ...]:
    return (CancelTurn(run.turn),) if run.phase is Phase.WORKING and run.ended < run.turn else ()


def account(run: Run, seen: Observation) -> Decision:
    """Take the bill in. A resumed session's cost is cumulative, so money spent is the difference.

    Of a lost turn it is as much as is known; what is not is in the next one's, as the session goes on.
    """
    turn = seen.turn
    before = 0.0 if turn.fresh else run.session_cost_usd
    usd = max(turn.session_cost_usd - before, 0.0)
    bill = Spend(run.turn, seen.now, usd, turn.tokens, _seconds_of(turn, run))
    run = replace(
        run,
        ended=run.turn,
        session=turn.session or run.session,
        session_cost_usd=max(turn.session_cost_usd, before),
        spent_usd=run.spent_usd + usd,
        tokens=run.tokens + turn.tokens,
        seconds=run.seconds + bill.seconds,
        extent=run.extent if turn.change is None or turn.change.objections else extent_of(turn.change.files),
        refusals=tuple(dict.fromkeys((*turn.refusals, *run.refusals)))[:REFUSALS_KEPT],
    )
    notice = (Say(Place.ISSUE, f"session-{run.turn}", messages.session_lost()),) if turn.fresh else ()
    return Decision(run, notice, bill if _took_an_agent(run, turn) else None, _ending(run, seen))


def _seconds_of(turn: TurnReport, run: Run) -> float:
    """Of the agent: up to the last sign of it, if nobody saw its end."""
    ended = turn.progress.verifying_since or turn.ended_at or turn.progress.last_at
    return max(ended - run.turn_at, 0.0)


def _took_an_agent(run: Run, turn: TurnReport) -> bool:
    """What the host does alone is no attempt; nor is one that no model ever answered, unless nobody knows."""
    return run.errand is not Errand.OFFER and (turn.state is TurnState.LOST or _was_there(turn))


def _was_there(turn: TurnReport) -> bool:
    return bool(turn.agent_turns or turn.words or turn.tokens or turn.session_cost_usd)


def _ending(run: Run, seen: Observation) -> Ending | None:
    """One that no agent had a part in says nothing about how agents fare."""
    turn, failure = seen.turn, Failure.NONE
    if turn.state is TurnState.FAILED:
        failure = turn.failure or Failure.AGENT
    elif turn.state is not TurnState.SUCCEEDED or not (turn.agent_turns or turn.tokens):
        return None
    return Ending(run.project, run.key, run.ordinal, run.turn, run.turn_at, seen.now, failure, _briefly(turn.detail))


def _briefly(detail: str) -> str:
    flat = on_one_line(detail)
    return flat if len(flat) <= DETAIL_LETTERS else f"{flat[:DETAIL_LETTERS]} …"


def take_in(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The agent is content. What it changed is offered, what it was told is answered."""
    assert seen.issue
    if holding.is_held(seen):
        ended = replace(_well_ended(decision.run), given=holding.given_still(decision.run, seen))
        return holding.hold(decision.then(ended), seen, policy)
    decision = decision.then(verifying.noted(decision.run, seen))
    seen = holding.with_words(decision.run, verifying.with_words(decision.run, seen))
    if verifying.is_to_mend(decision, seen, policy):
        return verifying.send_back(decision.then(_well_ended(decision.run)), seen)
    run, turn = holding.released(_well_ended(decision.run), seen), seen.turn
    change = turn.change
    commit = change.head if change and (change.head != change.before or decision.run.errand is Errand.VERIFY) else ""
    handed = ledger.unsettled(run, seen)
    run = ledger.settle(run, turn.heard, turn.answers, commit)
    heard = ledger.reached(handed, turn.heard)
    replies: tuple[Action, ...] = (*receipts.rockets(heard), *receipts.replies(run, heard, turn))
    if turn.planned and not turn.question:
        return planning.propose(decision.then(run, *receipts.rockets(heard)), seen, policy)
    if turn.question:
        return ask_after(decision.then(run, *replies), seen, policy, Cause.QUESTION, messages.question(turn.question))
    if change is None or change.head == change.base:
        nothing = messages.nothing_changed(turn.words)
        return ask_after(decision.then(run, *replies), seen, policy, Cause.NO_CHANGE, nothing)
    if objection := consent.find_objection(run, seen, policy):
        return consent.object_to(decision.then(run, *replies), seen, policy, objection)
    reports = mending.reports(decision.run, seen, commit)
    merged = not _took_an_agent(decision.run, turn)
    offering = decision.then(mending.superseding(run, seen, commit))
    return _offer(offering, seen, *replies, *reports, only_merged=merged)


def _offer(decision: Decision, seen: Observation, *replies: Action, only_merged: bool) -> Decision:
    assert seen.issue
    run, turn = decision.run, seen.turn
    if seen.pull_request and only_merged:
        # only the base was taken in: what the agent said of its own work still stands
        told = verifying.retold(run, seen.pull_request)
        return decision.then(run.to(Phase.REVIEW, now=seen.now), PushBranch(), *told, *replies)
    issue = consent.words_of(run, seen.issue)
    title, body, base = (
        messages.pull_request_title(issue),
        messages.pull_request_body(run, turn),
        clauses_of(issue.key, issue.body).base,
    )
    offered = replace(run, facts="").to(Phase.REVIEW, now=seen.now)
    return decision.then(offered, PushBranch(), OfferPullRequest(title, body, base), *replies)


def _well_ended(run: Run) -> Run:
    """The errand is done, unless a plan is still to be made or to be approved."""
    errand = run.errand if run.errand is Errand.PLAN else Errand.NONE
    return replace(run, failures=0, losses=0, errand=errand, given="")


def go_on(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The turn was ended by us, or vanished with its process. The work and the session are there."""
    run = decision.run
    match run.cause:
        case Cause.PAUSED:
            return decision.then(run.to(Phase.ASKING, reason=PAUSED, cause=Cause.PAUSED, now=seen.now))
        case Cause.TAKEN:
            return handing.still_taken(run, decision, seen)
        case Cause.CONSENT:
            return _consent(decision, seen, policy)
        case Cause.LATE:
            return _retry_orask(decision, seen, policy, run.reason)
        case _:
            return _recover(decision, seen, policy)


def _consent(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The turn was ended for an objection, which may be gone by now."""
    if objection := consent.find_objection(decision.run, seen, policy):
        return consent.object_to(decision, seen, policy, objection)
    return decision.then(replace(decision.run, cause=Cause.NONE))


def _recover(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    if seen.turn.state is not TurnState.LOST:
        return decision.then(replace(decision.run, cause=_cause_after(decision.run, seen)))
    run = _with_loss(decision.run, seen, policy)
    if run.losses >= policy.losses:
        tired = f"I was interrupted {run.losses} times, and each time the agent had done nothing yet."
        return ask_after(decision.then(run), seen, policy, Cause.FAILED, tired)
    return decision.then(replace(run, cause=_cause_after(run, seen)))


def _cause_after(run: Run, seen: Observation) -> Cause:
    """Whoever was to try first, and did not get to it, is still to try."""
    return run.cause if run.cause in brakes.CANARIES and not seen.turn.progress.tokens else Cause.NONE


def _with_loss(run: Run, seen: Observation, policy: Policy) -> Run:
    """Was it the work's fault? Not if the agent got on; and not so often, if process after process is killed.

    What gets on and kills us all the same is ended by what the issue may cost.
    """
    if seen.turn.tokens:
        return replace(run, losses=0)
    if run.losses and seen.now - run.lost_at < policy.loss_seconds:
        return run
    return replace(run, losses=run.losses + 1, lost_at=seen.now)


def fail(decision: Decision, seen: Observation, policy: Policy, failure: Failure, detail: str) -> Decision:
    run = replace(decision.run, ended=decision.run.turn)
    match failure:
        case Failure.KEY if seen.slot.silent:
            return decision.then(replace(run, not_before=seen.now + BACKOFF_SECONDS, reason=seen.slot.wait))
        case Failure.KEY:
            run = replace(run, not_before=seen.now + KEY_RETRY_SECONDS)
            return ask_after(decision.then(run), seen, policy, Cause.MODEL, messages.asks_for_key(detail))
        case Failure.BUDGET:
            bill = Spent(decision.spend.usd, decision.spend.tokens) if decision.spend else Spent()
            spent = Spent(seen.spent.usd + bill.usd, seen.spent.tokens + bill.tokens)
            text = budget.why_ended(spent, run, policy)
            return ask_after(decision.then(run), seen, policy, Cause.BUDGET, text)
        case Failure.UNREADY if seen.turn.obstacle:
            text = answers.not_ready(seen.turn.obstacle, policy)
            return ask_after(decision.then(run), seen, policy, Cause.FAILED, text)
        case Failure.LIMIT:
            return decision.then(brakes.parked(run, seen.turn.retry_at, seen.now))
        case Failure.MODEL if seen.slot.outage:
            return decision.then(_rested(run, seen, run.failures, detail))
        case _:
            return _retry_orask(decision.then(run), seen, policy, detail)


def _retry_orask(decision: Decision, seen: Observation, policy: Policy, detail: str) -> Decision:
    failures = decision.run.failures + 1
    if failures >= policy.failures:
        run = replace(decision.run, failures=failures)
        return ask_after(decision.then(run), seen, policy, Cause.FAILED, messages.gave_up(failures, detail))
    return decision.then(_rested(decision.run, seen, failures, detail))


def _rested(run: Run, seen: Observation, failures: int, detail: str) -> Run:
    pause = min(BACKOFF_SECONDS * 2 ** max(failures - 1, 0), BACKOFF_LIMIT)
    return replace(run, failures=failures, reason=detail, cause=Cause.NONE, not_before=seen.now + pause)
