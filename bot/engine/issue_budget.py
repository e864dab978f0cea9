"""Budget of an issue in money, tokens, turns and time: what is left, and how people raise it. Pure.

Rule: the ledger counts over all runs of the issue; a restart or another label resets nothing.
"""

import re
from dataclasses import replace

from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.spend import TotalSpend
from bot.engine.decision import Decision
from bot.engine.messages import budget_comment
from bot.engine.observation import Observation

_MONEY = re.compile(r"\$?(\d{1,9}(?:\.\d+)?)(?:\s*(?:\$|usd|dollars?))?", re.IGNORECASE)
_TOKENS = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*(?:([kmb])\s*)?tokens?", re.IGNORECASE)
_TURNS = re.compile(r"(\d{1,6})\s*turns?", re.IGNORECASE)
_HOURS = re.compile(r"(\d{1,5}(?:\.\d+)?)\s*(?:hours?|h)", re.IGNORECASE)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


def allowed_for(run: Run, policy: Policy) -> TotalSpend:
    """0: no limit."""
    return TotalSpend(
        run.budget.usd or policy.per_issue_usd,
        run.budget.tokens or policy.per_issue_tokens,
        run.budget.turns or policy.per_issue_turns,
        run.budget.hours * 3600 or policy.per_issue_seconds,
    )


def left_for(run: Run, seen: Observation, policy: Policy) -> TotalSpend:
    """Returns the limits that can end a turn early; 0: no limit."""
    allowed = allowed_for(run, policy)
    return TotalSpend(
        max(allowed.usd - seen.spent.usd, 0.0) if allowed.usd else 0.0,
        max(allowed.tokens - seen.spent.tokens, 0) if allowed.tokens else 0,
    )


def why_exhausted(run: Run, seen: Observation, policy: Policy) -> str:
    """Returns the reason why no budget is left; empty if some is left."""
    spent, allowed = seen.spent, allowed_for(run, policy)
    if allowed.usd and spent.usd >= allowed.usd:
        return budget_comment.over_budget(spent.usd, allowed.usd, policy)
    if allowed.tokens and spent.tokens >= allowed.tokens:
        return budget_comment.over_tokens(spent.tokens, allowed.tokens, policy)
    if allowed.turns and spent.turns >= allowed.turns:
        return budget_comment.over_turns(spent.turns, allowed.turns, policy)
    if allowed.seconds and spent.seconds >= allowed.seconds:
        return budget_comment.over_time(spent.seconds, allowed.seconds, policy)
    return ""


def why_turn_ended(spent: TotalSpend, run: Run, policy: Policy) -> str:
    """Names the budget that ended a turn: the nearer one, as a turn may end shortly before its budget is used up."""
    allowed = allowed_for(run, policy)
    of_tokens = spent.tokens / allowed.tokens if allowed.tokens else 0.0
    of_money = spent.usd / allowed.usd if allowed.usd else 0.0
    if of_tokens > of_money:
        return budget_comment.over_tokens(spent.tokens, allowed.tokens, policy)
    return budget_comment.over_budget(spent.usd, allowed.usd, policy)


def set_budget(run: Run, seen: Observation, policy: Policy, argument: str) -> tuple[Decision, str]:
    """`argument` is `10`, `50M tokens`, `150 turns` or `30 hours`: the total, not an addition."""
    changed = _with_allowance(run, argument.strip())
    if changed is None:
        return Decision(run), budget_comment.which_budget(policy)
    text = budget_comment.budget_allowed(allowed_for(changed, policy), seen.spent)
    if run.phase is Phase.ASKING and run.wait_reason is WaitReason.BUDGET and not why_exhausted(changed, seen, policy):
        return Decision(changed.to(Phase.QUEUED, now=seen.now)), f"{text} The run continues."
    return Decision(changed), text


def _with_allowance(run: Run, argument: str) -> Run | None:
    """Returns None if the text is no amount, or zero."""
    if found := _TOKENS.fullmatch(argument):
        tokens = int(float(found[1]) * _TIMES[(found[2] or "").lower()])
        return replace(run, budget=replace(run.budget, tokens=tokens)) if tokens else None
    if found := _TURNS.fullmatch(argument):
        return replace(run, budget=replace(run.budget, turns=int(found[1]))) if int(found[1]) else None
    if found := _HOURS.fullmatch(argument):
        return replace(run, budget=replace(run.budget, hours=float(found[1]))) if float(found[1]) else None
    if found := _MONEY.fullmatch(argument):
        return replace(run, budget=replace(run.budget, usd=float(found[1]))) if float(found[1]) else None
    return None
