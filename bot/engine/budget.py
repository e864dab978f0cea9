"""What an issue may cost, in money, tokens, turns and time: what is left of it, and what people allow. Pure.

Rule: a ledger counts, over all runs of the issue; a restart or another label resets nothing.
"""

import re
from dataclasses import replace

from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.domain.spend import Spent
from bot.engine.decision import Decision
from bot.engine.messages import issue as messages
from bot.engine.observation import Observation

_MONEY = re.compile(r"\$?(\d{1,9}(?:\.\d+)?)(?:\s*(?:\$|usd|dollars?))?", re.IGNORECASE)
_TOKENS = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*([kmb]?)\s*tokens?", re.IGNORECASE)
_TURNS = re.compile(r"(\d{1,6})\s*turns?", re.IGNORECASE)
_HOURS = re.compile(r"(\d{1,5}(?:\.\d+)?)\s*(?:hours?|h)", re.IGNORECASE)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


def allowed_for(run: Run, policy: Policy) -> Spent:
    """0: no limit."""
    return Spent(
        run.budget_usd or policy.per_issue_usd,
        run.budget_tokens or policy.per_issue_tokens,
        run.budget_turns or policy.per_issue_turns,
        run.budget_hours * 3600 or policy.per_issue_seconds,
    )


def left_for(run: Run, seen: Observation, policy: Policy) -> Spent:
    """For one more turn, of what can end it in the middle; 0: no limit."""
    allowed = allowed_for(run, policy)
    return Spent(
        max(allowed.usd - seen.spent.usd, 0.0) if allowed.usd else 0.0,
        max(allowed.tokens - seen.spent.tokens, 0) if allowed.tokens else 0,
    )


def why_spent(run: Run, seen: Observation, policy: Policy) -> str:
    """In words; empty: there is something left."""
    spent, allowed = seen.spent, allowed_for(run, policy)
    if allowed.usd and spent.usd >= allowed.usd:
        return messages.over_budget(spent.usd, allowed.usd, policy)
    if allowed.tokens and spent.tokens >= allowed.tokens:
        return messages.over_tokens(spent.tokens, allowed.tokens, policy)
    if allowed.turns and spent.turns >= allowed.turns:
        return messages.over_turns(spent.turns, allowed.turns, policy)
    if allowed.seconds and spent.seconds >= allowed.seconds:
        return messages.over_time(spent.seconds, allowed.seconds, policy)
    return ""


def why_ended(spent: Spent, run: Run, policy: Policy) -> str:
    """A turn was ended for its budget, maybe a little before it was spent: by the one that is nearer to its end."""
    allowed = allowed_for(run, policy)
    of_tokens = spent.tokens / allowed.tokens if allowed.tokens else 0.0
    of_money = spent.usd / allowed.usd if allowed.usd else 0.0
    if of_tokens > of_money:
        return messages.over_tokens(spent.tokens, allowed.tokens, policy)
    return messages.over_budget(spent.usd, allowed.usd, policy)


def allow(run: Run, seen: Observation, policy: Policy, argument: str) -> tuple[Decision, str]:
    """`10`, `50M tokens`, `150 turns` or `30 hours`: in all, not in addition."""
    changed = _with_allowance(run, argument.strip())
    if changed is None:
        return Decision(run), messages.which_budget(policy)
    text = messages.budget_allowed(allowed_for(changed, policy), seen.spent)
    if run.phase is Phase.ASKING and run.cause is Cause.BUDGET and not why_spent(changed, seen, policy):
        return Decision(changed.to(Phase.QUEUED, now=seen.now)), f"{text} Going on."
    return Decision(changed), text


def _with_allowance(run: Run, argument: str) -> Run | None:
    """None: it is no sum, or none of anything."""
    if found := _TOKENS.fullmatch(argument):
        tokens = int(float(found[1]) * _TIMES[found[2].lower()])
        return replace(run, budget_tokens=tokens) if tokens else None
    if found := _TURNS.fullmatch(argument):
        return replace(run, budget_turns=int(found[1])) if int(found[1]) else None
    if found := _HOURS.fullmatch(argument):
        return replace(run, budget_hours=float(found[1])) if float(found[1]) else None
    if found := _MONEY.fullmatch(argument):
        return replace(run, budget_usd=float(found[1])) if float(found[1]) else None
    return None
