"""Acts on a verification result: sends regressions back to the agent, or publishes. Pure.

Rule: only what the change broke is a regression; publishing does not wait for it for ever.
"""

from dataclasses import replace

from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequest
from bot.domain.run import Phase, Run, TurnPurpose
from bot.domain.spend import TotalSpend
from bot.engine import acknowledge, comment_ledger, issue_budget
from bot.engine.actions import Action, OfferPullRequest
from bot.engine.decision import Decision
from bot.engine.messages import verification_text
from bot.engine.observation import Observation
from bot.text.pull_request_section import replace_paragraph, section_of


def record_verification(run: Run, seen: Observation) -> Run:
    """Keeps the verification only if it is of this commit."""
    found, change = seen.turn.verification, seen.turn.change
    if found:
        return replace(run, checks=replace(run.checks, verification=found.without_output()))
    known = run.checks.verification
    is_of_this = known is not None and change is not None and known.commit == change.head
    return run if is_of_this else replace(run, checks=replace(run.checks, verification=None))


def must_fix(decision: Decision, seen: Observation, policy: Policy) -> bool:
    """Returns True if another turn should fix regressions and may still be spent."""
    found = seen.turn.verification
    if (
        not found
        or not found.regressions
        or seen.turn.question
        or decision.run.checks.verify_attempts >= policy.verify_rounds
    ):
        return False
    if decision.run.purpose is TurnPurpose.PLAN:  # a person ordered this in the meantime
        return False
    bill = decision.spend
    usd, tokens, seconds = (bill.usd, bill.tokens, bill.seconds) if bill else (0.0, 0, 0.0)
    spent = seen.spent
    more = TotalSpend(spent.usd + usd, spent.tokens + tokens, spent.turns + bool(bill), spent.seconds + seconds)
    return not issue_budget.why_exhausted(decision.run, replace(seen, spent=more), policy)


def send_back(decision: Decision, seen: Observation) -> Decision:
    """Sends the regressions to the agent; nothing is published, and comments stay pending unless answered."""
    turn, run = seen.turn, decision.run
    found = run.checks.verification
    assert found
    handed = comment_ledger.pending_comments(run, seen)
    answered = comment_ledger.only(handed, {answer.comment for answer in turn.answers} & turn.delivered)
    run = comment_ledger.close_answered(run, turn.delivered, turn.answers)
    run = replace(
        run,
        purpose=TurnPurpose.FIX_VERIFICATION,
        checks=replace(run.checks, verify_attempts=run.checks.verify_attempts + 1),
        hold=replace(run.hold, agent_summary=turn.summary),
    )
    replies: tuple[Action, ...] = (*acknowledge.ack_done(answered), *acknowledge.replies(run, answered, turn))
    again = run.to(Phase.WORKING, reason=verification_text.next_fix(found), now=seen.now)
    return decision.then(again, *replies)


def with_agent_summary(run: Run, seen: Observation) -> Observation:
    """Adds the agent's summary from before the fix to the published text."""
    if run.purpose is not TurnPurpose.FIX_VERIFICATION:
        return seen
    words = "\n\n".join(part for part in (run.hold.agent_summary, seen.turn.summary) if part.strip())
    return replace(seen, turn=replace(seen.turn, summary=words))


def answer_again(run: Run, pull: PullRequest) -> tuple[OfferPullRequest, ...]:
    """Repeats the comments that are still pending."""
    ours = section_of(pull.body)
    if not ours:
        return ()
    return (
        OfferPullRequest(
            pull.title, replace_paragraph(ours, verification_text.VERIFICATION, verification_text.of_verification(run))
        ),
    )
