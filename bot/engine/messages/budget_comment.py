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
    return _over(f"kept agents at work for {_hours(spent)} of the {_hours(allowed)} it may take", more, policy)


def over_day(detail: str) -> str:
    """`detail` is the host's own sentence with the amounts."""
    return (
        f"{detail} The work so far is kept, and I go on by myself after 00:00 UTC, or once `budget.per_day_usd` allows "
        "more."
    )


def _over(what: str, more: str, policy: Policy) -> str:
    allow, stop = f"`/{policy.label} budget {more}`", f"`/{policy.label} stop`"
    return f"This issue has {what}. Allow more with {allow}, or stop with {stop}."


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.3g} hours"


def _millions(tokens: int) -> int:
    return max(tokens // 1_000_000, 1)


def which_budget(policy: Policy) -> str:
    *most, last = (f"`/{policy.label} budget {one}`" for one in ("10", "50M tokens", "150 turns", "30 hours"))
    return (
        "Say how many dollars this issue may cost in all, or how many tokens, turns or hours it may take: "
        f"{', '.join(most)} or {last}."
    )


def budget_allowed(allowed: TotalSpend, spent: TotalSpend) -> str:
    money = f"cost {dollars(allowed.usd)} in all; {dollars(spent.usd)} are spent" if allowed.usd else ""
    tokens = f"use {allowed.tokens:,} tokens in all; {spent.tokens:,} are used" if allowed.tokens else ""
    turns = f"take {allowed.turns} turns in all; {spent.turns} are taken" if allowed.turns else ""
    time = f"take {_hours(allowed.seconds)} in all; {_hours(spent.seconds)} are over" if allowed.seconds else ""
    return " ".join(f"This issue may now {part}." for part in (money, tokens, turns, time) if part)
