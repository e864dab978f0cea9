"""Slots: which runs get one now, and why the others wait. Plain values."""

from dataclasses import replace

import pytest

from bot.domain.comment import Comment, CommentPlace
from bot.domain.issue import Issue, Person
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.turn import Failure, TurnOutcome, TurnReport, TurnState
from bot.engine.observation import Observation
from bot.engine.schedule import Capacity, schedule
from tests.fakes.runs import a_run

ANA = Person("ana", trusted=True)


def run(number: int, phase: Phase = Phase.QUEUED, project: str = "shop", **fields) -> Run:
    return a_run(f"{project}#{number}", project, phase=phase, **fields)


def seen(
    run: Run, *, now: float = 100.0, priority: int = 0, labels=(), created: float | None = None, said=(), **fields
):
    created_at = float(run.key.rpartition("#")[2]) if created is None else created
    issue = Issue(
        run.key, "t", "", frozenset({"ai", *labels}), open=True, requester=ANA, created_at=created_at, priority=priority
    )
    comments = tuple(Comment(f"c{n}", CommentPlace.ISSUE, ANA, text, now) for n, text in enumerate(said))
    return Observation(now, issue, comments, **fields)


def slots(*looked, busy=(), working=2, per_project=9, outcomes=(), **capacity):
    policies = dict.fromkeys(("shop", "bar"), Policy(max_working=working, max_working_per_project=per_project))
    return schedule(looked, busy, policies, Capacity(working, **capacity), outcomes)


def granted(*looked, **arguments) -> list[str]:
    return sorted(key for key, slot in slots(*looked, **arguments).items() if slot.granted)


def test_the_limit_applies_to_all_projects_together():
    looked = [(each, seen(each)) for each in (run(1), run(2), run(1, project="bar"))]
    assert len(granted(*looked)) == 2


def test_a_turn_that_is_already_running_keeps_and_counts_its_slot():
    first, second, third = (run(number) for number in (1, 2, 3))
    begun = TurnReport(TurnState.RUNNING)
    looked = [(first, seen(first)), (second, seen(second)), (third, seen(third, next_turn=begun))]
    assert granted(*looked) == ["shop#1/1", "shop#3/1"]
    assert granted(*looked, spent_today_usd=2.0, per_day_usd=1.0) == ["shop#3/1"]


def test_a_run_that_the_days_money_ended_waits_for_money_and_for_nothing_else():
    ended = run(1, Phase.ASKING, wait_reason=WaitReason.DAY_BUDGET)
    assert granted((ended, seen(ended)), spent_today_usd=2.0, per_day_usd=1.0) == []
    assert granted((ended, seen(ended)), spent_today_usd=0.5, per_day_usd=1.0) == ["shop#1/1"]


def test_nobody_waits_for_a_refused_run_once_the_model_has_answered_another():
    refused = run(1, Phase.ASKING, wait_reason=WaitReason.KEY_REFUSED, turns_number=1, turns_not_before=900.0)
    waiting = run(2)
    looked = [(refused, seen(refused)), (waiting, seen(waiting))]
    no = TurnOutcome("shop", "shop#1", 1, 1, 40.0, 50.0, Failure.KEY)
    assert [key for key, slot in slots(*looked, outcomes=[no]).items() if slot.granted] == []
    good = TurnOutcome("shop", "shop#3", 1, 1, 60.0, 70.0)
    assert [key for key, slot in slots(*looked, outcomes=[no, good]).items() if slot.granted] == ["shop#2/1"]


def test_the_limit_of_one_project_lets_another_project_start():
    looked = [(each, seen(each)) for each in (run(1), run(2), run(3, project="bar"))]
    found = slots(*looked, working=9, per_project=1)
    assert sorted(key for key, slot in found.items() if slot.granted) == ["bar#3/1", "shop#1/1"]
    assert "1 agent is working on shop" in found["shop#2/1"].reason


def test_urgent_runs_come_first_then_priority_then_age():
    old, important, urgent = run(1), run(2), run(3)
    looked = [(old, seen(old)), (important, seen(important, priority=2)), (urgent, seen(urgent, labels={"ai:now"}))]
    assert granted(*looked, working=1) == ["shop#3/1"]
    assert granted(*looked[:2], working=1) == ["shop#2/1"]


def test_asking_and_review_hold_no_slot():
    waiting = run(3)
    looked = [(run(1, Phase.ASKING), seen(run(1))), (run(2, Phase.REVIEW), seen(run(2))), (waiting, seen(waiting))]
    assert granted(*looked, working=1) == ["shop#3/1"]


def test_a_run_whose_start_is_in_progress_holds_its_slot():
    waiting = run(2)
    assert granted((waiting, seen(waiting)), busy=[run(1, Phase.WORKING)], working=1) == []


def test_a_comment_in_review_waits_for_its_turn_like_new_work():
    reviewed, fresh = run(1, Phase.REVIEW), run(2)
    looked = [(fresh, seen(fresh)), (reviewed, seen(reviewed, said=["please"]))]
    assert granted(*looked, working=1) == ["shop#1/1"]


def test_the_queue_shows_how_many_runs_are_ahead():
    looked = [(each, seen(each)) for each in (run(1), run(2), run(3))]
    found = slots(*looked, working=1)
    assert "0 ahead" in found["shop#2/1"].reason
    assert "1 ahead" in found["shop#3/1"].reason


def test_nothing_starts_when_the_daily_budget_is_spent_or_the_disk_is_full():
    one = run(1)
    spent = slots((one, seen(one)), per_day_usd=5, spent_today_usd=5)["shop#1/1"]
    full = slots((one, seen(one)), disk="only 1.5 GB of disk are free (5 are required)")["shop#1/1"]
    assert (spent.granted, spent.reason) == (False, "today's budget of $5.00 is spent")
    assert (full.granted, full.reason) == (False, "only 1.5 GB of disk are free (5 are required)")


@pytest.mark.parametrize("cause", [WaitReason.PAUSED, WaitReason.BUDGET])
def test_a_comment_does_not_start_a_paused_run(cause: WaitReason):
    paused = run(1, Phase.ASKING, wait_reason=cause)
    assert granted((paused, seen(paused, said=["please"]))) == []


def test_with_a_refused_key_one_run_reports_it_and_is_the_only_one_to_retry():
    refused = TurnReport(TurnState.FAILED, failure=Failure.KEY)
    first, second = run(1, Phase.WORKING, turns_number=1), run(2, Phase.WORKING, turns_number=1)
    found = slots((first, seen(first, turn=refused)), (second, seen(second, turn=refused)))
    assert (found["shop#1/1"].reported_elsewhere, found["shop#2/1"].reported_elsewhere) == (False, True)

    speaking, waiting = run(1, Phase.ASKING, wait_reason=WaitReason.KEY_REFUSED, turns_not_before=400), run(2)
    assert granted((speaking, seen(speaking)), (waiting, seen(waiting))) == []
    assert granted((speaking, seen(speaking, now=400)), (waiting, seen(waiting, now=400))) == ["shop#1/1"]


def owning(run: Run, *paths: str, labels=()):
    found = seen(run, labels=labels)
    return run, replace(found, issue=replace(found.issue, body="Tidy up.\n" + "".join(f"Owns: {p}\n" for p in paths)))


def test_runs_that_own_the_same_files_do_not_work_at_the_same_time():
    first, second, third = run(1), run(2), run(3)
    looked = [owning(first, "src/auth"), owning(second, "src/auth/login.py"), owning(third, "docs/**")]
    assert granted(*looked, working=9) == ["shop#1/1", "shop#3/1"]
    assert slots(*looked, working=9)["shop#2/1"].reason == "overlaps shop#1"


def test_a_run_waits_for_a_working_run_that_owns_the_same_files():
    looked = [owning(run(1, Phase.WORKING), "src"), owning(run(2), "src/total.py")]
    assert slots(*looked, working=9)["shop#2/1"].reason == "overlaps shop#1"


def test_a_run_without_an_observation_is_assumed_to_own_all_files():
    waiting = owning(run(2), "docs")
    assert slots(waiting, busy=[run(1, Phase.WORKING)], working=9)["shop#2/1"].reason == "overlaps shop#1"
    assert granted(waiting, busy=[run(1, Phase.WORKING, project="bar")], working=9) == ["shop#2/1"]


def test_the_anyway_label_and_runs_without_owned_files_ignore_overlaps():
    at_work = owning(run(1, Phase.WORKING), "src")
    assert granted(at_work, owning(run(2), "src", labels={"ai:anyway"}), working=9) == ["shop#1/1", "shop#2/1"]
    assert granted(at_work, (run(3), seen(run(3))), working=9) == ["shop#1/1", "shop#3/1"]


def test_a_run_that_has_begun_does_not_wait_for_overlapping_files():
    reviewed, found = owning(run(2, Phase.REVIEW), "src")
    said = replace(found, comments=seen(reviewed, said=["please"]).comments)
    assert granted(owning(run(1, Phase.WORKING), "src"), (reviewed, said), working=9) == ["shop#1/1", "shop#2/1"]
