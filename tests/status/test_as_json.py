"""JSON of a run: the data of its card, and null for unknown values."""

from dataclasses import replace

from bot.domain.change import DiffStat
from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest, PullRequestState
from bot.domain.run import Phase, Run
from bot.domain.turn import Todo
from bot.status.as_json import RunSummary, StatusSnapshot

PULL = PullRequest(2, "b", "t", "", PullRequestState.OPEN, draft=True, head="abc")


def seen(run: Run, summary: RunSummary):
    (only,) = StatusSnapshot(9.0, [run], {run.id: summary}).as_json()["runs"]
    return only


def test_a_card_shows_todos_lines_checks_and_the_requester():
    checks = Checks(CheckState.RED, "abc", passed=3, pending=0, failed=(FailedCheck("tests"),))
    run = Run("shop#1", "shop", phase=Phase.REVIEW, person="ana", diff_stat=DiffStat(2, 30, 4))
    summary = RunSummary(todos=(Todo("a", done=True), Todo("b", done=False)), pull_request=replace(PULL, checks=checks))
    card = seen(run, summary)
    assert card["todos"] == {"done": 1, "total": 2}
    assert card["changed"] == {"files": 2, "added": 30, "removed": 4}
    assert card["checks"] == {"state": "red", "passed": 3, "pending": 0, "failed": ["tests"]}
    assert card["person"] == "ana"
    assert card["queue"] is None


def test_unknown_checks_are_null():
    assert seen(Run("shop#1", "shop"), RunSummary(pull_request=PULL))["checks"] is None
    assert seen(Run("shop#1", "shop"), RunSummary())["checks"] is None


def test_a_place_in_the_queue_has_an_estimate_if_there_is_one():
    assert seen(Run("shop#1", "shop"), RunSummary())["queue"] == {"position": 1, "eta_seconds": None}
    assert seen(Run("shop#1", "shop"), RunSummary(eta_seconds=12.6))["queue"] == {"position": 1, "eta_seconds": 13}
