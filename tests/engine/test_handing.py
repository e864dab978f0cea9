"""A worktree that is being taken over, where a turn ends just then, or nothing works."""

import pytest

from bot.domain.change import Change
from bot.domain.comment import Comment, Heard, Outcome, Place
from bot.domain.issue import Issue, Person
from bot.domain.policy import Policy
from bot.domain.run import Cause, Phase, Run
from bot.domain.turn import Failure, Progress, TurnReport, TurnState
from bot.engine.actions import CancelTurn, HandOver, PushBranch, StartTurn
from bot.engine.decide import ask_for_help, decide
from bot.engine.observation import Observation, Slot

ANA = Person("ana", email="ana@example.com", trusted=True)
ISSUE = Issue("shop#1", "Fix login", "It breaks.", frozenset({"ai"}), open=True, asked_by=ANA)
TAKEN = Run(
    "shop#1", "shop", phase=Phase.WORKING, turn=1, turn_at=90.0, cause=Cause.TAKEN, reason="ana has taken it over"
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
        TurnReport(TurnState.SUCCEEDED, planned=True, words="A plan."),
        TurnReport(TurnState.FAILED, failure=Failure.AGENT, detail="it fell over"),
        TurnReport(TurnState.FAILED, failure=Failure.KEY, detail="no"),
        TurnReport(TurnState.STOPPED),
        TurnReport(TurnState.LOST),
    ],
)
def test_however_its_last_turn_ends_it_stays_taken(turn):
    decision = after(TAKEN, turn=turn)
    assert (decision.run.phase, decision.run.cause) == (Phase.ASKING, Cause.TAKEN)
    assert decision.run.reason == "ana has taken it over"
    assert StartTurn not in kinds(decision)


def test_what_a_turn_had_finished_when_it_was_taken_over_is_still_offered():
    assert PushBranch in kinds(after(TAKEN, turn=TurnReport(TurnState.SUCCEEDED, change=CHANGE)))


def test_what_goes_wrong_meanwhile_leaves_it_taken():
    run = ask_for_help(TAKEN, Observation(now=100.0, issue=ISSUE), Policy(), "The push was refused.").run
    assert (run.phase, run.cause) == (Phase.ASKING, Cause.TAKEN)


def test_the_agent_has_let_go_before_people_are_told_where_the_worktree_is():
    run = Run("shop#1", "shop", phase=Phase.WORKING, turn=1, turn_at=90.0)
    order = Comment("c1", Place.ISSUE, ANA, "/ai take", 95.0)
    running = TurnReport(TurnState.RUNNING, Progress(session="s1", last_at=99.0))
    decision = after(run, comments=(order,), turn=running)
    assert kinds(decision).index(CancelTurn) < kinds(decision).index(HandOver)
    assert decision.run.session == "s1"


def test_who_gave_is_named_in_the_commit_also_when_the_comment_is_gone():
    row = Heard("c1", Place.ISSUE, 1, Outcome.COMMAND)
    run = Run("shop#1", "shop", turn=1, ended=1, given="c1", begun_at=50.0, heard=(row,))
    order = Comment("c1", Place.ISSUE, ANA, "/ai give", 95.0)
    with_it, without = (
        next(
            action for action in after(run, comments=said, slot=Slot(granted=True)).actions if type(action) is StartTurn
        )
        for said in ((order,), ())
    )
    assert with_it.given.message.endswith("Co-authored-by: ana <ana@example.com>")
    assert (with_it.given.at, without.given.at) == (95.0, 50.0)
    assert "somebody" in without.given.message
