"""What an issue may cost, in money and in tokens, and what people type to allow more."""

import pytest

from bot.domain.issue import Issue
from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.domain.spend import Spent
from bot.engine.budget import allow, left_for, why_ended, why_spent
from bot.engine.observation import Observation

POLICY = Policy(per_issue_usd=2.0, per_issue_tokens=1000)
ISSUE = Issue("shop#1", "t", "b", frozenset({"ai"}), open=True)


def seen(usd: float, tokens: int) -> Observation:
    return Observation(1.0, ISSUE, spent_usd=usd, spent_tokens=tokens)


@pytest.mark.parametrize(
    ("said", "usd", "tokens"),
    [
        ("10", 10.0, 0), ("$7.50", 7.5, 0), ("3 usd", 3.0, 0), ("50M tokens", 0.0, 50_000_000),
        ("2k tokens", 0.0, 2000), ("1.5m token", 0.0, 1_500_000), ("800 Tokens", 0.0, 800),
    ],
)  # fmt: skip
def test_a_sum_is_money_and_a_number_of_tokens_says_so(said, usd, tokens):
    decision, _ = allow(Run("shop#1", "shop"), seen(0, 0), POLICY, said)
    assert (decision.run.budget_usd, decision.run.budget_tokens) == (usd, tokens)


@pytest.mark.parametrize("said", ["", "lots", "0", "-5", "inf", "nan", "0 tokens", "5M", "1e9", "tokens"])
def test_anything_else_changes_nothing_and_says_how_it_is_said(said):
    run = Run("shop#1", "shop")
    decision, text = allow(run, seen(0, 0), POLICY, said)
    assert decision.run == run
    assert "`/ai budget 50M tokens`" in text


def test_the_same_sum_again_is_as_good():
    decision, text = allow(Run("shop#1", "shop", budget_usd=10), seen(0, 0), POLICY, "10")
    assert "$10.00" in text
    assert decision.run.budget_usd == 10


def test_it_goes_on_only_when_neither_is_spent():
    asking = Run("shop#1", "shop", phase=Phase.ASKING, cause=Cause.BUDGET)
    assert allow(asking, seen(3, 2000), POLICY, "10")[0].run.phase is Phase.ASKING
    assert allow(asking, seen(1, 2000), POLICY, "3k tokens")[0].run.phase is Phase.QUEUED


def test_what_is_left_is_never_no_limit():
    run = Run("shop#1", "shop")
    assert left_for(run, seen(0.5, 400), POLICY) == Spent(1.5, 600)
    assert left_for(run, seen(9, 9), Policy()) == Spent()
    assert "1,000 of the 1,000 tokens" in why_spent(run, seen(0, 1000), POLICY)
    assert "$2.00 of the $2.00" in why_spent(run, seen(2, 0), POLICY)
    assert why_spent(run, seen(1.9, 999), POLICY) == ""


def test_a_turn_ended_a_little_early_names_what_is_nearer_to_its_end():
    run = Run("shop#1", "shop")
    assert "tokens it may use" in why_ended(Spent(0.1, 900), run, POLICY)
    assert "$1.90" in why_ended(Spent(1.9, 100), run, POLICY)
