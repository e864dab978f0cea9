"""Says that a budget is used up, and how to raise it. Pure text in, text out."""

from bot.domain.policy import Policy
from bot.domain.spend import TotalSpend
from bot.text.money import dollars


def over_budget(spent: float, allowed: float, policy: Policy) -> str:
    return _over(f"cost {dollars(spent)} of the {dollars(allowed)} it may cost", f"{allowed * 2:.0f}", policy)


def over_tokens(spent: int, allowed: int, policy: Policy) -> str:
    more = f"{_millions(allowed * 2)}M tokens"
    return _over(f"used {spent:,} of the {allowed:,} tokens it may use", more, policy)


def over_turns(spent: int, allowed: int, policy: Policy) -> str:
    return _over(f"taken {spent} of the {allowed} turns it may take", f"{allowed * 2} turns", policy)


def over_time(spent: float, allowed: float, policy: Policy) -> str:
    more = f"{allowed / 1800:.3g} hours"
    worked = f"Agents have worked on this issue for {_hours(spent)} of the {_hours(allowed)} it may take"
    return _exhausted(worked, more, policy)


def over_day(detail: str) -> str:
    """`detail` is the host's own sentence with the amounts."""
    return (
        f"{detail} The work so far is kept. The run continues after 00:00 UTC, or as soon as `budget.per_day_usd` "
        "allows more."
    )


def _over(what: str, more: str, policy: Policy) -> str:
    return _exhausted(f"This issue has {what}", more, policy)


def _exhausted(sentence: str, more: str, policy: Policy) -> str:
    return (
        f"{sentence}. Raise the budget with `/{policy.label} budget {more}`, or end the run with `/{policy.label} "
        "stop`."
    )


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.3g} hours"


def _millions(tokens: int) -> int:
    return max(tokens // 1_000_000, 1)


def which_budget(policy: Policy) -> str:
    *most, last = (f"`/{policy.label} budget {one}`" for one in ("10", "50M tokens", "150 turns", "30 hours"))
    return f"Name the total budget of this issue, in dollars, tokens, turns or hours: {', '.join(most)} or {last}."


def budget_allowed(allowed: TotalSpend, spent: TotalSpend) -> str:
    money = f"This issue may now cost {dollars(allowed.usd)} in all; it has cost {dollars(spent.usd)}."
    tokens = f"This issue may now use {allowed.tokens:,} tokens in all; it has used {spent.tokens:,}."
    turns = f"This issue may now take {allowed.turns} turns in all; it has taken {spent.turns}."
    hours = f"Agents may now work on this issue for {_hours(allowed.seconds)} in all; they have worked for "
    time = f"{hours}{_hours(spent.seconds)}."
    limits = ((allowed.usd, money), (allowed.tokens, tokens), (allowed.turns, turns), (allowed.seconds, time))
    return " ".join(text for limit, text in limits if limit)
