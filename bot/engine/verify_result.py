"""The host has tried what an agent made: what follows from that. Pure.

Rule: only what is red now and green on the base is the change's doing; and nothing waits for it for ever.
"""

from dataclasses import replace

from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequest
from bot.domain.run import Errand, Phase, Run
from bot.domain.spend import Spent
from bot.engine import acknowledge as receipts
from bot.engine import budget
from bot.engine import comment_ledger as ledger
from bot.engine.actions import Action, OfferPullRequest
from bot.engine.decision import Decision
from bot.engine.messages import checks as facts
from bot.engine.observation import Observation
from bot.text.pull_request_body import ours_in, with_paragraph


def noted(run: Run, seen: Observation) -> Run:
    """What was found of another commit says nothing of this one."""
    found, change = seen.turn.verification, seen.turn.change
    if found:
        return replace(run, verification=found.without_output())
    known = run.verification
    is_of_this = known is not None and change is not None and known.commit == change.head
    return run if is_of_this else replace(run, verification=None)


def is_to_mend(decision: Decision, seen: Observation, policy: Policy) -> bool:
    """By another turn, if it may take one. Without news of this very turn there is nothing new to tell an agent."""
    found = seen.turn.verification
    if not found or not found.broken or seen.turn.question or decision.run.rounds >= policy.verify_rounds:
        return False
    if decision.run.errand is Errand.PLAN:  # ordered meanwhile
        return False
    bill = decision.spend
    usd, tokens, seconds = (bill.usd, bill.tokens, bill.seconds) if bill else (0.0, 0, 0.0)
    spent = seen.spent
    more = Spent(spent.usd + usd, spent.tokens + tokens, spent.turns + bool(bill), spent.seconds + seconds)
    return not budget.why_spent(decision.run, replace(seen, spent=more), policy)


def send_back(decision: Decision, seen: Observation) -> Decision:
    """Nothing is published yet, and what people said that led to it waits along, but for what the agent answered."""
    turn, run = seen.turn, decision.run
    found = run.verification
    assert found
    handed = ledger.unsettled(run, seen)
    answered = ledger.reached(handed, {answer.comment for answer in turn.answers} & turn.heard)
    run = ledger.wait(run, turn.heard, turn.answers)
    run = replace(run, errand=Errand.VERIFY, rounds=run.rounds + 1, words=turn.words)
    replies: tuple[Action, ...] = (*receipts.rockets(answered), *receipts.replies(run, answered, turn))
    again = run.to(Phase.WORKING, reason=facts.broken(found), now=seen.now)
    return decision.then(again, *replies)


def with_words(run: Run, seen: Observation) -> Observation:
    """What the agent said of its work before it mended it belongs to what is offered."""
    if run.errand is not Errand.VERIFY:
        return seen
    words = "\n\n".join(part for part in (run.words, seen.turn.words) if part.strip())
    return replace(seen, turn=replace(seen.turn, words=words))


def retold(run: Run, pull: PullRequest) -> tuple[OfferPullRequest, ...]:
    """Where the rest of what was said still stands."""
    ours = ours_in(pull.body)
    if not ours:
        return ()
    return (OfferPullRequest(pull.title, with_paragraph(ours, facts.VERIFICATION, facts.of_verification(run))),)
