"""A turn begins: what the agent is told, and what it may spend. Pure."""

from dataclasses import replace

from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.engine import ledger, messages, prompts, receipts
from bot.engine.actions import StartTurn
from bot.engine.asking import ask
from bot.engine.decision import Decision
from bot.engine.observation import Observation


def begin_turn(run: Run, seen: Observation, policy: Policy, *, after: str = "") -> Decision:
    """Start the next turn in the same session, with everything the agent has not surely heard."""
    assert seen.issue
    allowed = run.budget_usd or policy.per_issue_usd
    if allowed and seen.spent_usd >= allowed:
        return ask(run, seen, policy, Cause.BUDGET, messages.over_budget(seen.spent_usd, allowed, policy))
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
