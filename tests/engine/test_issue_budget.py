"""The budget of an issue in money, tokens, turns and time, and the command that raises it."""

import pytest

from bot.domain.issue import Issue
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, RunBudget, WaitReason
from bot.domain.spend import TotalSpend
from bot.engine.issue_budget import left_for, set_budget, why_exhausted, why_turn_ended
from bot.engine.observation import Observation

POLICY = Policy(per_issue_usd=2.0, per_issue_tokens=1000)
ISSUE = Issue("shop#1", "t", "b", frozenset({"ai"}), open=True)


def seen(usd: float = 0, tokens: int = 0, turns: int = 0, seconds: float = 0) -> Observation:
    return Observation(1.0, ISSUE, spent=TotalSpend(usd, tokens, turns, seconds))


@pytest.mark.parametrize(
    ("said", "usd", "tokens"),
    [
        ("10", 10.0, 0), ("$7.50", 7.5, 0), ("3 usd", 3.0, 0), ("50M tokens", 0.0, 50_000_000),
        ("2k tokens", 0.0, 2000), ("1.5m token", 0.0, 1_500_000), ("800 Tokens", 0.0, 800),
    ],
)  # fmt: skip
def test_a_budget_command_accepts_money_and_tokens(said, usd, tokens):
    decision, _ = set_budget(Run("shop#1", "shop"), seen(0, 0), POLICY, said)
    assert (decision.run.budget.usd, decision.run.budget.tokens) == (usd, tokens)


@pytest.mark.parametrize("said", ["", "lots", "0", "-5", "inf", "nan", "0 tokens", "5M", "1e9", "tokens"])
def test_an_invalid_budget_command_changes_nothing_and_shows_examples(said):
    run = Run("shop#1", "shop")
    decision, text = set_budget(run, seen(0, 0), POLICY, said)
    assert decision.run == run
    assert "`/ai budget 50M tokens`" in text
    assert "`/ai budget 30 hours`" in text


def test_the_same_budget_again_is_accepted():
    decision, text = set_budget(Run("shop#1", "shop", budget=RunBudget(usd=10)), seen(0, 0), POLICY, "10")
    assert "$10.00" in text
    assert decision.run.budget.usd == 10


def test_a_run_continues_only_if_neither_money_nor_tokens_are_exhausted():
    asking = Run("shop#1", "shop", phase=Phase.ASKING, wait_reason=WaitReason.BUDGET)
    assert set_budget(asking, seen(3, 2000), POLICY, "10")[0].run.phase is Phase.ASKING
    assert set_budget(asking, seen(1, 2000), POLICY, "3k tokens")[0].run.phase is Phase.QUEUED


def test_an_exhausted_budget_is_never_treated_as_unlimited():
    run = Run("shop#1", "shop")
    assert left_for(run, seen(0.5, 400), POLICY) == TotalSpend(1.5, 600)
    assert left_for(run, seen(9, 9), Policy()) == TotalSpend()
    assert "1,000 of the 1,000 tokens" in why_exhausted(run, seen(0, 1000), POLICY)
    assert "$2.00 of the $2.00" in why_exhausted(run, seen(2, 0), POLICY)
    assert why_exhausted(run, seen(1.9, 999), POLICY) == ""


@pytest.mark.parametrize(
    ("said", "turns", "hours", "answer"),
    [
        ("150 turns", 150, 0.0, "take 150 turns in all; it has taken 7."),
        ("1 turn", 1, 0.0, "take 1 turns in all"),
        ("30 hours", 0, 30.0, "for 30 hours in all; they have worked for 2 hours."),
        ("1.5h", 0, 1.5, "for 1.5 hours in all"),
    ],
)
def test_a_budget_command_accepts_turns_and_hours(said, turns, hours, answer):
    decision, text = set_budget(Run("shop#1", "shop"), seen(0, 0, 7, 7200), Policy(), said)
    assert (decision.run.budget.turns, decision.run.budget.hours) == (turns, hours)
    assert answer in text


@pytest.mark.parametrize("said", ["0 turns", "1.5 turns", "0 hours", "-1 hours", "hours", "turns", "1e3 turns"])
def test_zero_turns_or_zero_time_is_no_allowance(said):
    assert set_budget(Run("shop#1", "shop"), seen(), POLICY, said)[0].run == Run("shop#1", "shop")


def test_turns_and_time_can_be_exhausted_too():
    policy, run = Policy(per_issue_turns=7, per_issue_seconds=5400.0), Run("shop#1", "shop")
    assert why_exhausted(run, seen(turns=6, seconds=5399), policy) == ""
    turns, time = why_exhausted(run, seen(turns=7), policy), why_exhausted(run, seen(seconds=5400), policy)
    assert "taken 7 of the 7 turns" in turns
    assert "`/ai budget 14 turns`" in turns
    assert "Agents have worked on this issue for 1.5 hours of the 1.5 hours" in time
    assert "`/ai budget 3 hours`" in time
    asking = Run("shop#1", "shop", phase=Phase.ASKING, wait_reason=WaitReason.BUDGET)
    assert set_budget(asking, seen(turns=7), policy, "8 turns")[0].run.phase is Phase.QUEUED


def test_a_turn_ended_by_its_budget_names_the_limit_that_is_closer():
    run = Run("shop#1", "shop")
    assert "tokens it may use" in why_turn_ended(TotalSpend(0.1, 900), run, POLICY)
    assert "$1.90" in why_turn_ended(TotalSpend(1.9, 100), run, POLICY)
