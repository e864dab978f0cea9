"""Takeover of a worktree when a turn ends at that moment or an action fails."""

import pytest

from bot.domain.change import Change
from bot.domain.comment import Comment, CommentOutcome, CommentPlace, CommentRecord
from bot.domain.issue import Issue, Person
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, RunTurns, WaitReason
from bot.domain.turn import Failure, Progress, TurnReport, TurnState
from bot.engine.actions import CancelTurn, PrintHandover, PushBranch, StartTurn
from bot.engine.decide import ask_for_help, decide
from bot.engine.observation import Observation, Slot

ANA = Person("ana", email="ana@example.com", trusted=True)
ISSUE = Issue("shop#1", "Fix login", "It breaks.", frozenset({"ai"}), open=True, requester=ANA)
TAKEN = Run(
    "shop#1",
    "shop",
    phase=Phase.WORKING,
    turns=RunTurns(number=1, started_at=90.0),
    wait_reason=WaitReason.TAKEN_OVER,
    reason="ana has taken over the worktree",
)
CHANGE = Change(base="b", head="c", before="b")


def after(run: Run, **facts):
    return decide(run, Observation(**{"now": 100.0, "issue": ISSUE, **facts}), Policy())


def kinds(decision) -> list[type]:
    return [type(action) for action in decision.actions]


@pytest.mark.parametrize(
    "turn",
    [
        TurnReport(TurnState.SUCCEEDED, change=CHANGE),
        TurnReport(TurnState.SUCCEEDED, question="Which?"),
        TurnReport(TurnState.SUCCEEDED, planned=True, summary="A plan."),
        TurnReport(TurnState.FAILED, failure=Failure.AGENT, detail="it fell over"),
        TurnReport(TurnState.FAILED, failure=Failure.KEY, detail="no"),
        TurnReport(TurnState.STOPPED),
        TurnReport(TurnState.LOST),
    ],
)
def test_a_run_stays_taken_over_for_any_end_of_its_last_turn(turn):
    decision = after(TAKEN, turn=turn)
    assert (decision.run.phase, decision.run.wait_reason) == (Phase.ASKING, WaitReason.TAKEN_OVER)
    assert decision.run.reason == "ana has taken over the worktree"
    assert StartTurn not in kinds(decision)


def test_a_turn_that_had_succeeded_before_the_takeover_is_offered():
    assert PushBranch in kinds(after(TAKEN, turn=TurnReport(TurnState.SUCCEEDED, change=CHANGE)))


def test_a_failure_during_a_takeover_leaves_the_run_taken_over():
    run = ask_for_help(TAKEN, Observation(now=100.0, issue=ISSUE), Policy(), "The push was refused.").run
    assert (run.phase, run.wait_reason) == (Phase.ASKING, WaitReason.TAKEN_OVER)


def test_a_takeover_cancels_the_turn_before_it_shows_the_worktree():
    run = Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=1, started_at=90.0))
    order = Comment("c1", CommentPlace.ISSUE, ANA, "/ai take", 95.0)
    running = TurnReport(TurnState.RUNNING, Progress(session="s1", last_event_at=99.0))
    decision = after(run, comments=(order,), turn=running)
    assert kinds(decision).index(CancelTurn) < kinds(decision).index(PrintHandover)
    assert decision.run.session == "s1"


def test_the_handover_commit_names_the_author_or_somebody_if_the_comment_is_gone():
    row = CommentRecord("c1", CommentPlace.ISSUE, 1, CommentOutcome.COMMAND)
    run = Run(
        "shop#1", "shop", turns=RunTurns(number=1, ended=1), handback_comment="c1", begun_at=50.0, comments=(row,)
    )
    order = Comment("c1", CommentPlace.ISSUE, ANA, "/ai give", 95.0)
    with_it, without = (
        next(
            action.order
            for action in after(run, comments=said, slot=Slot(granted=True)).actions
            if type(action) is StartTurn
        )
        for said in ((order,), ())
    )
    assert with_it.handover.message.endswith("Co-authored-by: ana <ana@example.com>")
    assert (with_it.handover.at, without.handover.at) == (95.0, 50.0)
    assert "somebody" in without.handover.message
