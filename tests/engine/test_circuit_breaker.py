"""Circuit breaker: when repeated failures pause a project, and which run tries first. Plain values."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.issue import Issue, Person
from bot.domain.policy import Policy
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.turn import Failure, Progress, TurnOutcome, TurnReport, TurnState
from bot.engine import circuit_breaker
from bot.engine.observation import Observation, Slot
from bot.engine.schedule import Capacity, schedule
from tests.fakes.runs import a_run

NOON = 1_000_080_000.0 - 1_000_080_000.0 % 86400 + 43200  # a Monday's
GOOD = Failure.NONE
ANA = Person("ana", trusted=True)


def ending(at: float, failure: Failure = Failure.MODEL, *, number: int = 0, project: str = "shop", detail: str = "529"):
    key = f"{project}#{number or int(at)}"
    return TurnOutcome(project, key, 1, 1, at - 5, at, failure, detail)


def endings(*failures: Failure, start: float = NOON, every: float = 10.0) -> list[TurnOutcome]:
    return [ending(start + every * number, failure) for number, failure in enumerate(failures)]


def run(number: int, phase: Phase = Phase.QUEUED, project: str = "shop", **fields) -> Run:
    return a_run(f"{project}#{number}", project, phase=phase, **fields)


def seen(run: Run, now: float, **fields) -> Observation:
    issue = Issue(run.key, "t", "", frozenset({"ai"}), open=True, requester=ANA, created_at=float(run.key[-1]))
    return Observation(now, issue, **fields)


def slots(*runs: Run, now: float, known=(), others=(), tokens=(), working: int = 9) -> dict[str, Slot]:
    """`tokens`: the runs whose turns have shown progress."""
    shown = {name: TurnReport(TurnState.RUNNING, Progress(tokens=9)) for name in tokens}
    looked = [(one, seen(one, now, turn=shown.get(one.id, TurnReport(TurnState.RUNNING)))) for one in runs]
    policies = dict.fromkeys(("shop", "bar"), Policy(max_working=working, max_working_per_project=working))
    return dict(schedule(looked, others, policies, Capacity(working), known))


def granted(*runs: Run, **more) -> list[str]:
    return sorted(name for name, slot in slots(*runs, **more).items() if slot.granted)


TRIPPED = endings(*[Failure.MODEL] * 5)
TRIPPED_AT = TRIPPED[-1].at


@pytest.mark.parametrize(
    ("failures", "every", "trips"),
    [
        ([Failure.MODEL] * 5, 10, True),
        ([Failure.MODEL] * 4, 10, False),
        ([Failure.MODEL] * 5, 899, True),
        ([Failure.MODEL] * 5, 900, False),
        ([Failure.AGENT] * 5, 10, True),
        ([Failure.SETUP] * 5, 10, True),
        ([Failure.DISK] * 5, 10, True),
        ([Failure.KEY] * 9, 10, False),
        ([Failure.BUDGET] * 9, 10, False),
        ([Failure.LIMIT] * 9, 10, False),
        ([Failure.MODEL, Failure.AGENT] * 4, 10, False),
        ([Failure.MODEL, Failure.AGENT] * 4 + [Failure.MODEL], 10, True),
        ([Failure.AGENT, GOOD] * 4 + [Failure.AGENT], 10, True),
        ([Failure.MODEL] * 5 + [GOOD], 10, False),
        ([Failure.MODEL] * 5 + [GOOD] + [Failure.MODEL] * 4, 10, False),
        ([Failure.MODEL] * 5 + [Failure.LIMIT], 10, True),
    ],
)
def test_five_similar_failures_within_an_hour_pause_a_project_until_a_success(failures, every, trips):
    assert bool(circuit_breaker.find_breaker(endings(*failures, every=every))) is trips


def test_failures_of_one_project_do_not_pause_another():
    other = [replace(one, project="bar", key=f"bar#{number}") for number, one in enumerate(TRIPPED[:3])]
    assert list(circuit_breaker.find_breakers([*TRIPPED, *other])) == ["shop"]


def test_the_pause_doubles_with_each_failed_trial_up_to_an_hour():
    known, pauses = list(TRIPPED), []
    for _ in range(5):
        trip = circuit_breaker.find_breaker(known)
        pauses.append(trip.next_try - known[-1].at)
        known.append(ending(trip.next_try + 60))
    assert pauses == [600, 1200, 2400, 3600, 3600]


def test_failures_of_turns_started_before_the_pause_do_not_prolong_it():
    before, after = (
        circuit_breaker.find_breaker(TRIPPED),
        circuit_breaker.find_breaker([*TRIPPED, ending(TRIPPED_AT + 30, detail="last")]),
    )
    assert after.next_try == before.next_try
    assert (after.count, after.detail) == (6, "last")


@given(st.lists(st.tuples(st.sampled_from(Failure), st.floats(0, 5000)), max_size=40))
def test_a_project_is_paused_for_at_most_an_hour_and_a_success_ends_the_pause(history):
    at, known = NOON, []
    for failure, pause in history:
        at += pause
        known.append(ending(at, failure, number=len(known) + 1))
    if trip := circuit_breaker.find_breaker(known):
        assert trip.is_due(at + 3600)
    assert circuit_breaker.find_breaker([*known, ending(at, GOOD)]) is None or not trip


def test_a_paused_project_starts_nothing_and_every_run_shows_the_reason():
    resting = run(1, Phase.WORKING, turns_number=2, turns_ended=2, turns_failures=2)
    queued, elsewhere = run(2), run(3, project="bar")
    found = slots(resting, queued, elsewhere, now=TRIPPED_AT + 60, known=TRIPPED)
    why = "paused after 5 turns failed in the same way: the model does not answer (529); the next probe is at 12:11 UTC"
    assert [found[one.id] for one in (resting, queued)] == [Slot(reason=why, paused=True, outage=True)] * 2
    assert found[elsewhere.id].granted


def test_after_the_pause_one_run_tries_and_runs_in_progress_come_first():
    resting, queued = run(2, Phase.WORKING, turns_number=2, turns_ended=2), run(1)
    assert granted(resting, queued, now=TRIPPED_AT + 600, known=TRIPPED) == [resting.id]
    assert granted(
        replace(resting, turns=replace(resting.turns, not_before=TRIPPED_AT + 700)),
        queued,
        now=TRIPPED_AT + 600,
        known=TRIPPED,
    ) == [queued.id]
    trying = replace(resting, turns=replace(resting.turns, number=3, started_at=TRIPPED_AT + 600))
    found = slots(trying, queued, now=TRIPPED_AT + 605, known=TRIPPED)
    assert found[queued.id].reason.endswith("; shop#2 runs as a probe")
    assert slots(queued, others=[trying], now=TRIPPED_AT + 605, known=TRIPPED)[queued.id].paused


def test_a_clock_that_was_set_back_delays_nothing():
    assert granted(run(1), now=TRIPPED_AT - 86400, known=TRIPPED) == ["shop#1/1"]


def test_progress_ends_a_pause_for_a_model_outage_and_other_pauses_need_a_success():
    trying, queued = run(1, Phase.WORKING, turns_number=1, turns_started_at=TRIPPED_AT + 600), run(2)
    times = {"now": TRIPPED_AT + 700, "tokens": [trying.id]}
    assert queued.id in granted(trying, queued, known=TRIPPED, **times)
    broken = [replace(one, failure=Failure.AGENT) for one in TRIPPED]
    assert queued.id not in granted(trying, queued, known=broken, **times)
    older = replace(trying, turns=replace(trying.turns, started_at=TRIPPED_AT - 5))
    assert queued.id not in granted(older, queued, known=TRIPPED, now=TRIPPED_AT + 60, tokens=[older.id])


def test_a_retry_command_overrides_a_pause_and_a_usage_limit():
    told, other = run(1, wait_reason=WaitReason.RETRY), run(2)
    assert granted(told, other, now=TRIPPED_AT + 1, known=TRIPPED) == [told.id]
    parked = circuit_breaker.wait_for_limit(run(3, Phase.WORKING, turns_number=1, turns_ended=1), NOON + 999, NOON)
    assert granted(told, other, parked, now=NOON) == [told.id]


# The usage limit of the model.


@pytest.mark.parametrize(
    ("told", "until"),
    [
        (NOON + 7200, NOON + 7200),
        (0.0, NOON + 900),
        (NOON - 60, NOON + 900),
        (NOON + 1e9, NOON + 8 * 86400),
        (float("inf"), NOON + 8 * 86400),
        (float("nan"), NOON + 900),
    ],
)
def test_a_usage_limit_lasts_until_its_stated_end_within_bounds(told, until):
    one = circuit_breaker.wait_for_limit(
        run(1, Phase.WORKING, turns_number=1, turns_ended=1, turns_failures=1), told, NOON
    )
    assert (one.turns.not_before, one.turns.failures, one.phase, one.wait_reason) == (
        until,
        1,
        Phase.WORKING,
        WaitReason.USAGE_LIMIT,
    )


def parked(number: int, until: float, project: str = "shop", **more) -> Run:
    return circuit_breaker.wait_for_limit(
        run(number, Phase.WORKING, project, turns_number=1, turns_ended=1, turns_started_at=NOON - 99, **more),
        until,
        NOON,
    )


def test_a_usage_limit_stops_all_projects_and_all_show_its_end():
    one, two, queued = parked(1, NOON + 7200), parked(2, NOON + 7230, "bar"), run(3)
    found = slots(one, two, queued, now=NOON)
    assert not any(slot.granted for slot in found.values())
    assert {slot.reason for slot in found.values()} == {
        "the model's usage limit is reached; the run continues at 14:00 UTC"
    }


def test_after_a_usage_limit_runs_continue_one_by_one():
    one, two, queued = parked(1, NOON + 7200), parked(2, NOON + 7200, "bar"), run(3)
    later = NOON + 7200
    assert granted(one, two, queued, now=later) == ["bar#2/1"]
    trying = replace(two, turns=replace(two.turns, number=2, started_at=later))
    assert granted(trying, one, queued, now=later + 5) == [two.id]
    assert granted(one, queued, others=[trying], now=later + 5) == []
    answered = replace(trying, wait_reason=WaitReason.NONE)
    assert granted(answered, one, queued, now=later + 9) == ["bar#2/1", "shop#1/1"]
    assert queued.id in granted(
        answered, replace(one, wait_reason=WaitReason.NONE, turns=replace(one.turns, ended=0)), queued, now=later + 9
    )


def test_a_repeated_usage_limit_delays_all_runs():
    again, other = parked(1, NOON + 8000), parked(2, NOON + 8000)
    assert granted(again, other, now=NOON + 7201) == []


def test_progress_of_a_turn_started_later_ends_a_usage_limit_early():
    one, now = parked(1, NOON + 86400), NOON + 60
    refused = TurnOutcome("shop", one.key, 1, 1, NOON - 99, NOON, Failure.LIMIT)
    trying = run(2, Phase.WORKING, turns_number=1, turns_started_at=NOON + 30)
    assert one.id not in granted(one, trying, now=now, known=[refused])
    assert one.id in granted(one, trying, now=now, known=[refused], tokens=[trying.id])
    older = replace(trying, turns=replace(trying.turns, started_at=NOON - 30))
    assert one.id not in granted(one, older, now=now, known=[refused], tokens=[trying.id])
    assert one.id not in granted(one, trying, now=now, tokens=[trying.id])
    assert one.id in granted(one, now=now, known=[refused, GOOD_LATER])


GOOD_LATER = TurnOutcome("shop", "shop#9", 1, 1, NOON + 10, NOON + 50)


def test_runs_of_unreachable_projects_delay_others_only_for_a_limited_time():
    away, queued = parked(1, NOON + 7200, "bar"), run(2)
    assert granted(queued, others=[away], now=NOON) == []
    assert granted(queued, others=[away], now=NOON + 7200) == [queued.id]
    trying = replace(away, turns=replace(away.turns, number=2, started_at=NOON + 7200))
    assert granted(queued, others=[trying], now=NOON + 7300) == []
    assert granted(queued, others=[trying], now=NOON + 7200 + 600) == [queued.id]


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (NOON, "12:00 UTC"),
        (NOON + 1, "12:01 UTC"),
        (NOON + 12 * 3600, "Tuesday 00:00 UTC"),
        (NOON + 12 * 3600 - 1, "Tuesday 00:00 UTC"),
        (NOON + 8 * 86400, "Tuesday 12:00 UTC"),
        (NOON - 86400, "Sunday 12:00 UTC"),
    ],
)
def test_times_are_formatted_in_utc(at, words):
    assert circuit_breaker.clock_time(at, NOON) == words


def test_pause_reasons_are_listed_by_project_and_model():
    told = circuit_breaker.pause_reasons([parked(1, NOON + 7200)], TRIPPED, NOON)
    assert list(told) == ["project shop", "model"]
    assert told["model"] == "the model's usage limit is reached; the run continues at 14:00 UTC"
    assert circuit_breaker.pause_reasons([run(1)], [], NOON) == {}
