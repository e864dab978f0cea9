"""A turn has ended: the bill is paid, the work is offered, people are answered; or it is tried again. Pure."""

from dataclasses import replace

from bot.domain.comment import Place
from bot.domain.policy import Policy
from bot.domain.run import Cause, Errand, Phase, Run
from bot.domain.spend import Spend, Spent
from bot.domain.turn import Failure, TurnState
from bot.engine import budget, consent, handing, holding, ledger, mending, messages, planning, receipts
from bot.engine.actions import Action, CancelTurn, OfferPullRequest, PushBranch, Say
from bot.engine.asking import ask_after
from bot.engine.commands import PAUSED
from bot.engine.decision import Decision
from bot.engine.observation import Observation

KEY_RETRY_SECONDS = 300.0
"""How often one run tries whether the model takes our key again."""
BEING_ENDED = {Cause.PAUSED, Cause.TAKEN, Cause.LATE, Cause.CONSENT}
"""Why a running turn is being ended; what then happens to the run follows from it."""
REFUSALS_KEPT = 20
BACKOFF_SECONDS = 10.0
BACKOFF_LIMIT = 300.0


def cancel(run: Run) -> tuple[CancelTurn, ...]:
    return (CancelTurn(run.turn),) if run.phase is Phase.WORKING and run.ended < run.turn else ()


def account(run: Run, seen: Observation) -> Decision:
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
        refusals=tuple(dict.fromkeys((*turn.refusals, *run.refusals)))[:REFUSALS_KEPT],
    )
    notice = (Say(Place.ISSUE, f"session-{run.turn}", messages.session_lost()),) if turn.fresh else ()
    spend = None if turn.state is TurnState.LOST else Spend(run.turn, seen.now, usd, turn.tokens)
    return Decision(run, notice, spend)


def take_in(decision: Decision, seen: Observation, policy: Policy) -> Decision:
    """The agent is content. What it changed is offered, what it was told is answered."""
    assert seen.issue
    if holding.is_held(seen):
        ended = replace(_well_ended(decision.run), given=holding.given_still(decision.run, seen))
        return holding.hold(decision.then(ended), seen, policy)
    seen = holding.with_words(decision.run, seen)
    run, turn = holding.released(_well_ended(decision.run), seen), seen.turn
    change = turn.change
    commit = change.head if change and change.head != change.before else ""
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
    merged = not (turn.agent_turns or turn.words or decision.run.errand is Errand.OFFER)
    offering = decision.then(mending.superseding(run, seen, commit))
    return _offer(offering, seen, *replies, *reports, only_merged=merged)


def _offer(decision: Decision, seen: Observation, *replies: Action, only_merged: bool) -> Decision:
    assert seen.issue
    run, turn = decision.run, seen.turn
    if seen.pull_request and only_merged:
        # only the base was taken in: what the agent said of its own work still stands
        return decision.then(run.to(Phase.REVIEW, now=seen.now), PushBranch(), *replies)
    title, body = messages.pull_request_title(consent.words_of(run, seen.issue)), messages.pull_request_body(run, turn)
    offered = replace(run, facts="").to(Phase.REVIEW, now=seen.now)
    return decision.then(offered, PushBranch(), OfferPullRequest(title, body), *replies)


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
    run = replace(decision.run, losses=decision.run.losses + 1)
    if run.losses >= policy.losses:
        tired = f"The work was interrupted {run.losses} times without coming to an end."
        return ask_after(decision.then(run), seen, policy, Cause.FAILED, tired)
    return decision.then(replace(run, cause=Cause.NONE))


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
            spent = Spent(seen.spent_usd + bill.usd, seen.spent_tokens + bill.tokens)
            text = budget.why_ended(spent, run, policy)
            return ask_after(decision.then(run), seen, policy, Cause.BUDGET, text)
        case _:
            return _retry_orask(decision.then(run), seen, policy, detail)


def _retry_orask(decision: Decision, seen: Observation, policy: Policy, detail: str) -> Decision:
    failures = decision.run.failures + 1
    pause = min(BACKOFF_SECONDS * 2 ** (failures - 1), BACKOFF_LIMIT)
    run = replace(decision.run, failures=failures, reason=detail, cause=Cause.NONE)
    if failures >= policy.failures:
        return ask_after(decision.then(run), seen, policy, Cause.FAILED, messages.gave_up(failures, detail))
    return decision.then(replace(run, not_before=seen.now + pause))
