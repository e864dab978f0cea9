"""Statistics of a known history."""

import math

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.history import FinishedRun, FirstPullRequest, History, QueueWait, TurnBill
from bot.domain.statistics import (
    DAY,
    SPANS,
    DaySpan,
    Statistic,
    StatisticUnit,
    format_value,
    most_at_once,
    nearest_rank,
    statistics_of,
)

NOW = 100 * DAY + 3600.0
WEEK = DaySpan.until(NOW, 7)
TODAY = 100 * DAY


def figure(name: str, past: History, span: DaySpan = WEEK) -> Statistic:
    return next(one for one in statistics_of(past, span) if one.name == name)


def values_of(found: Statistic) -> dict:
    return {one.name: list(one.values) for one in found.series}


def test_a_span_ends_with_today_and_finds_the_day_of_a_time():
    assert WEEK.starts[-1] == TODAY
    assert len(WEEK.starts) == 7
    assert [WEEK.find(at) for at in (TODAY, TODAY + DAY - 1, TODAY + DAY, TODAY - 6 * DAY, TODAY - 6 * DAY - 1)] == [
        6, 6, None, 0, None,
    ]  # fmt: skip


def test_a_quarter_is_shown_by_week_and_ends_with_today():
    quarter = DaySpan.until(NOW, 90)
    assert len(quarter.starts) == 13
    assert quarter.starts[-1] == TODAY - 6 * DAY
    assert quarter.find(NOW) == 12


def test_spend_is_added_up_by_day_and_project_and_the_largest_comes_first():
    bills = [
        TurnBill(TODAY, "site", 1.0, 10),
        TurnBill(TODAY + 5, "shop", 2.0, 20),
        TurnBill(TODAY - DAY, "shop", 0.5, 5),
    ]
    old = TurnBill(TODAY - 30 * DAY, "shop", 99.0, 1)
    found = figure("spend", History([*bills, old]))
    assert values_of(found) == {"shop": [0, 0, 0, 0, 0, 0.5, 2.0], "site": [0, 0, 0, 0, 0, 0, 1.0]}
    assert list(values_of(found)) == ["shop", "site"]
    assert found.summary == "$3.50 in all"
    assert figure("tokens", History([*bills, old])).summary == "35 in all"


def test_of_many_projects_the_cheapest_are_combined():
    bills = [TurnBill(TODAY, f"p{number}", float(number), 1) for number in range(1, 10)]
    found = values_of(figure("spend", History(bills)))
    assert list(found) == ["p9", "p8", "p7", "p6", "p5", "others"]
    assert found["others"][-1] == 1 + 2 + 3 + 4


def test_finished_issues_are_counted_by_how_they_ended():
    ends = [
        FinishedRun(TODAY, "shop", merged=True, had_pull_request=True),
        FinishedRun(TODAY, "shop", merged=False, had_pull_request=True),
        FinishedRun(TODAY - DAY, "shop", merged=False, had_pull_request=False),
    ]
    assert values_of(figure("throughput", History(finished_runs=ends))) == {
        "merged": [0, 0, 0, 0, 0, 0, 1],
        "ended otherwise": [0, 0, 0, 0, 0, 1, 1],
    }


def test_the_merge_rate_counts_runs_with_a_pull_request():
    offered = [FinishedRun(TODAY, "shop", merged=merged, had_pull_request=True) for merged in (True, True, False)]
    ends = [*offered, FinishedRun(TODAY, "shop", merged=False, had_pull_request=False)]
    found = figure("merge-rate", History(finished_runs=ends))
    assert values_of(found)["merged"][-2:] == [None, 200 / 3]
    assert found.summary == "2 of 3"
    assert figure("merge-rate", History()).summary == "no pull requests closed"


def test_time_to_a_pull_request_is_shown_as_median_and_ninetieth_percentile():
    offers = [FirstPullRequest(TODAY, "shop", 60.0 * minutes) for minutes in (10, 20, 30, 40, 50, 60, 70, 80, 90, 600)]
    found = figure("time-to-pull-request", History(pull_requests=offers))
    assert values_of(found) == {"median": [None] * 6 + [55.0], "nine of ten": [None] * 6 + [90.0]}
    assert found.summary == "half within 55 min, nine of ten within 90 min"
    assert figure("time-to-pull-request", History()).summary == "no pull requests"


def test_the_queue_of_a_day_is_its_maximum():
    waits = [
        QueueWait("shop", TODAY - 2 * DAY + 10, TODAY - DAY + 10),  # over midnight
        QueueWait("shop", TODAY - DAY + 5, TODAY - DAY + 20),
        QueueWait("shop", TODAY - DAY + 20, TODAY - DAY + 30),  # begins as that one ends
        QueueWait("shop", TODAY + 10),
    ]
    found = figure("queue", History(waits=waits))
    assert values_of(found)["waiting"] == [0, 0, 0, 0, 1, 2, 1]
    assert found.summary == "at most 2 at once"


def test_the_history_can_be_filtered_by_project():
    past = History(
        [TurnBill(1, "a", 1, 1), TurnBill(1, "b", 1, 1)],
        [
            FinishedRun(1, "a", merged=True, had_pull_request=True),
            FinishedRun(1, "b", merged=True, had_pull_request=True),
        ],
        [FirstPullRequest(1, "a", 1), FirstPullRequest(1, "b", 1)],
        [QueueWait("a", 1), QueueWait("b", 1)],
    )
    assert past.of("") == past
    assert past.of("b") == History([past.bills[1]], [past.finished_runs[1]], [past.pull_requests[1]], [past.waits[1]])


def test_values_are_formatted_for_people():
    assert [format_value(value, StatisticUnit.MINUTES) for value in (None, 5.4, 119, 150)] == [
        "–",
        "5 min",
        "119 min",
        "2.5 h",
    ]
    assert format_value(1234.5, StatisticUnit.USD) == "$1,234.50"
    assert format_value(66.67, StatisticUnit.PERCENT) == "67 %"
    assert format_value(1234567, StatisticUnit.TOKENS) == "1,234,567"


MOMENTS = st.floats(0, 2 * NOW, allow_nan=False)


@given(st.lists(st.tuples(MOMENTS, MOMENTS)), st.sampled_from(list(SPANS)))
def test_the_maximum_of_waits_is_bounded_by_their_number_and_by_each_moment(ends, days):
    waits = [QueueWait("shop", min(pair), max(pair)) for pair in ends]
    for start in DaySpan.until(NOW, days).starts:
        most = most_at_once(waits, start, start + DAY)
        assert most <= len(waits)
        for moment in (start, start + DAY / 2):
            assert most >= sum(wait.begun_at <= moment < wait.ended_at for wait in waits)


@given(st.lists(st.floats(0, 1e9), min_size=1), st.floats(0.01, 1))
def test_so_many_are_no_greater_than_a_rank(values, share):
    rank = nearest_rank(values, share)
    assert rank in values
    assert sum(one <= rank for one in values) >= share * len(values) - 1e-9
    assert sum(one < rank for one in values) <= math.ceil(share * len(values))


@given(st.lists(st.tuples(MOMENTS, st.sampled_from("abcdefgh"), st.floats(0, 1e6))), st.sampled_from(list(SPANS)))
def test_every_bill_is_counted_once(spent, days):
    span = DaySpan.until(NOW, days)
    found = figure("spend", History([TurnBill(at, project, usd, 1) for at, project, usd in spent]), span)
    inside = sum(usd for at, _, usd in spent if span.start <= at < TODAY + DAY)
    assert math.isclose(sum(sum(one.values) for one in found.series), inside, rel_tol=1e-9)
