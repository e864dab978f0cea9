"""Statistics from bills, runs and the journal, checked against a history with known results."""

from dataclasses import replace

import pytest

from bot.domain.history import FinishedRun, FirstPullRequest, History, QueueWait, TurnBill
from bot.domain.run import MERGED, Phase, Run
from bot.domain.spend import Spend
from bot.store.runs import RunStore
from bot.store.statistics import history_since

RUN = Run("shop#1", "shop", begun_at=100.0, changed_at=100.0)


@pytest.fixture
def lived(tmp_path):
    """Makes runs as the engine saves them, with a note of each phase change and its cost."""
    store = RunStore.open(tmp_path / "treehand.db")

    def move(run: Run, phase: Phase, at: float, reason: str = "", spend: Spend | None = None) -> Run:
        moved = replace(run, phase=phase, changed_at=at, reason=reason)
        told = f"{run.phase} → {phase}" + (f": {reason}" if reason else "")
        store.save(moved, at=at, notes=[told], spend=spend)
        return moved

    def ask(key: str, at: float, project: str = "shop") -> Run:
        run = Run(key, project, begun_at=at, changed_at=at)
        store.save(run, at=at, notes=["ana asked for it: working → review"])
        return run

    yield ask, move, lambda since: history_since(tmp_path / "treehand.db", since)
    store.close()


def test_a_merged_run_is_in_the_history_with_its_wait_pull_request_and_end(lived):
    ask, move, past = lived
    run = move(ask("shop#1", 100.0), Phase.WORKING, 160.0)
    run = move(run, Phase.REVIEW, 400.0, spend=Spend(1, 400.0, 1.5, 1000))
    run = move(run, Phase.WORKING, 500.0)
    run = move(run, Phase.REVIEW, 600.0, spend=Spend(2, 600.0, 0.5, 500))
    move(run, Phase.DONE, 700.0, MERGED)
    assert past(0.0) == History(
        [TurnBill(400.0, "shop", 1.5, 1000), TurnBill(600.0, "shop", 0.5, 500)],
        [FinishedRun(700.0, "shop", merged=True, had_pull_request=True)],
        [FirstPullRequest(400.0, "shop", 300.0)],
        [QueueWait("shop", 100.0, 160.0)],
    )


def test_kinds_of_run_ends_are_distinguished(lived):
    ask, move, past = lived
    closed = move(move(ask("shop#1", 1.0), Phase.WORKING, 2.0), Phase.REVIEW, 3.0)
    move(closed, Phase.DONE, 10.0, "the pull request was closed")
    move(ask("shop#2", 1.0), Phase.DONE, 11.0, "the label was taken off")
    asked = move(move(ask("shop#3", 1.0), Phase.WORKING, 2.0), Phase.ASKING, 3.0, "→ review what?")
    move(asked, Phase.DONE, 12.0, "stopped")
    held = move(move(ask("shop#4", 1.0), Phase.WORKING, 2.0), Phase.ASKING, 3.0, "held")
    move(move(held, Phase.REVIEW, 5.0), Phase.DONE, 13.0, "the pull request was closed")
    assert [(end.at, end.merged, end.had_pull_request) for end in past(0.0).finished_runs] == [
        (10.0, False, True),
        (11.0, False, False),
        (12.0, False, False),
        (13.0, False, True),
    ]


def test_repeated_and_unfinished_waits_are_in_the_history(lived):
    ask, move, past = lived
    run = move(move(ask("shop#1", 10.0), Phase.WORKING, 20.0), Phase.ASKING, 30.0)
    run = move(move(run, Phase.QUEUED, 40.0), Phase.WORKING, 55.0)
    move(move(run, Phase.ASKING, 60.0), Phase.QUEUED, 70.0)
    ask("site#1", 80.0, "site")
    assert past(0.0).waits == [
        QueueWait("shop", 10.0, 20.0), QueueWait("shop", 40.0, 55.0), QueueWait("shop", 70.0), QueueWait("site", 80.0),
    ]  # fmt: skip


def test_older_events_are_left_out_except_waits_that_ended_later(lived):
    ask, move, past = lived
    old = move(ask("shop#1", 10.0), Phase.WORKING, 20.0)
    old = move(old, Phase.REVIEW, 30.0, spend=Spend(1, 30.0, 1.0, 10))
    move(old, Phase.DONE, 40.0, MERGED)
    move(ask("shop#2", 15.0), Phase.WORKING, 60.0, spend=Spend(1, 60.0, 2.0, 20))
    assert past(50.0) == History([TurnBill(60.0, "shop", 2.0, 20)], [], [], [QueueWait("shop", 15.0, 60.0)])
