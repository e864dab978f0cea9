"""The queue estimate: no estimate where there is no data."""

from bot.domain.run import Phase, Run, RunTurns
from bot.engine.queue_estimate import TurnRate, etas

NOW = 1000.0


def working(number: int, *, since: float, project: str = "shop") -> Run:
    return Run(f"{project}#{number}", project, phase=Phase.WORKING, turns=RunTurns(number=1, started_at=NOW - since))


def queued(number: int, reason: str = "", project: str = "shop") -> Run:
    return Run(f"{project}#{number}", project, reason=reason)


def test_there_is_no_estimate_before_the_first_turn_has_ended():
    assert etas([queued(1)], TurnRate(), NOW) == {}


def test_a_run_with_a_free_slot_is_estimated_to_start_at_once():
    assert etas([queued(1)], TurnRate(60.0, 2, 2), NOW) == {"shop#1/1": 0.0}


def test_the_first_queued_run_gets_the_first_free_slot():
    runs = [working(1, since=10), working(2, since=40), queued(3), queued(4), queued(5)]
    assert etas(runs, TurnRate(60.0, 2, 2), NOW) == {"shop#3/1": 20.0, "shop#4/1": 50.0, "shop#5/1": 80.0}


def test_a_turn_over_the_usual_length_is_estimated_to_end_at_once():
    assert etas([working(1, since=500), queued(2)], TurnRate(60.0, 1, 1), NOW) == {"shop#2/1": 0.0}


def test_a_full_project_does_not_hold_up_another():
    runs = [working(1, since=0), queued(2), queued(1, project="site")]
    assert etas(runs, TurnRate(60.0, 2, 1), NOW) == {"shop#2/1": 60.0, "site#1/1": 60.0}
    assert etas(runs, TurnRate(60.0, 3, 1), NOW) == {"shop#2/1": 60.0, "site#1/1": 0.0}


def test_runs_that_wait_for_another_reason_get_no_estimate():
    runs = [
        queued(1, "blocked by shop#9"),
        queued(2, "waiting for a free slot: 1 agent is working, 0 ahead of this one"),
    ]
    assert set(etas(runs, TurnRate(60.0, 1, 1), NOW)) == {"shop#2/1"}
