"""What figures say of a past that is known."""

import math

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.history import Bill, End, Offer, Past, Wait
from bot.domain.statistics import (
    DAY,
    SPANS,
    Figure,
    Span,
    Unit,
    figures_of,
    in_words,
    most_at_once,
    nearest_rank,
)

NOW = 100 * DAY + 3600.0
WEEK = Span.until(NOW, 7)
TODAY = 100 * DAY


def figure(name: str, past: Past, span: Span = WEEK) -> Figure:
    return next(one for one in figures_of(past, span) if one.name == name)


def values_of(found: Figure) -> dict:
    return {one.name: list(one.values) for one in found.series}


def test_a_span_ends_with_today_and_knows_what_is_in_it():
    assert WEEK.starts[-1] == TODAY
    assert len(WEEK.starts) == 7
    assert [WEEK.find(at) for at in (TODAY, TODAY + DAY - 1, TODAY + DAY, TODAY - 6 * DAY, TODAY - 6 * DAY - 1)] == [
        6, 6, None, 0, None,
    ]  # fmt: skip


def test_a_quarter_is_told_by_week_and_ends_with_today():
    quarter = Span.until(NOW, 90)
    assert len(quarter.starts) == 13
    assert quarter.starts[-1] == TODAY - 6 * DAY
    assert quarter.find(NOW) == 12


def test_spend_is_added_up_by_day_and_project_and_the_dearest_comes_first():
    bills = [Bill(TODAY, "site", 1.0, 10), Bill(TODAY + 5, "shop", 2.0, 20), Bill(TODAY - DAY, "shop", 0.5, 5)]
    old = Bill(TODAY - 30 * DAY, "shop", 99.0, 1)
    found = figure("spend", Past([*bills, old]))
    assert values_of(found) == {"shop": [0, 0, 0, 0, 0, 0.5, 2.0], "site": [0, 0, 0, 0, 0, 0, 1.0]}
    assert list(values_of(found)) == ["shop", "site"]
    assert found.told == "$3.50 in all"
    assert figure("tokens", Past([*bills, old])).told == "35 in all"


def test_of_many_projects_the_cheap_ones_are_told_together():
    bills = [Bill(TODAY, f"p{number}", float(number), 1) for number in range(1, 10)]
    found = values_of(figure("spend", Past(bills)))
    assert list(found) == ["p9", "p8", "p7", "p6", "p5", "others"]
    assert found["others"][-1] == 1 + 2 + 3 + 4


def test_done_issues_are_told_apart_by_how_they_ended():
    ends = [
        End(TODAY, "shop", merged=True, offered=True),
        End(TODAY, "shop", merged=False, offered=True),
        End(TODAY - DAY, "shop", merged=False, offered=False),
    ]
    assert values_of(figure("throughput", Past(ends=ends))) == {
        "merged": [0, 0, 0, 0, 0, 0, 1],
        "ended otherwise": [0, 0, 0, 0, 0, 1, 1],
    }


def test_the_merge_rate_counts_what_had_a_pull_request():
    offered = [End(TODAY, "shop", merged=merged, offered=True) for merged in (True, True, False)]
    ends = [*offered, End(TODAY, "shop", merged=False, offered=False)]
    found = figure("merge-rate", Past(ends=ends))
    assert values_of(found)["merged"][-2:] == [None, 200 / 3]
    assert found.told == "2 of 3"
    assert figure("merge-rate", Past()).told == "no pull requests ended"


def test_time_to_a_pull_request_is_told_by_its_middle_and_by_nine_of_ten():
    offers = [Offer(TODAY, "shop", 60.0 * minutes) for minutes in (10, 20, 30, 40, 50, 60, 70, 80, 90, 600)]
    found = figure("time-to-pull-request", Past(offers=offers))
    assert values_of(found) == {"median": [None] * 6 + [55.0], "nine of ten": [None] * 6 + [90.0]}
    assert found.told == "half within 55 min, nine of ten within 90 min"
    assert figure("time-to-pull-request", Past()).told == "no pull requests"


def test_the_queue_is_as_long_as_it_ever_was_that_day():
    waits = [
        Wait("shop", TODAY - 2 * DAY + 10, TODAY - DAY + 10),  # over midnight
        Wait("shop", TODAY - DAY + 5, TODAY - DAY + 20),
        Wait("shop", TODAY - DAY + 20, TODAY - DAY + 30),  # begins as that one ends
        Wait("shop", TODAY + 10),
    ]
    found = figure("queue", Past(waits=waits))
    assert values_of(found)["waiting"] == [0, 0, 0, 0, 1, 2, 1]
    assert found.told == "at most 2 at once"


def test_one_project_is_seen_alone():
    past = Past(
        [Bill(1, "a", 1, 1), Bill(1, "b", 1, 1)],
        [End(1, "a", merged=True, offered=True), End(1, "b", merged=True, offered=True)],
        [Offer(1, "a", 1), Offer(1, "b", 1)],
        [Wait("a", 1), Wait("b", 1)],
    )
    assert past.of("") == past
    assert past.of("b") == Past([past.bills[1]], [past.ends[1]], [past.offers[1]], [past.waits[1]])


def test_numbers_are_said_as_people_say_them():
    assert [in_words(value, Unit.MINUTES) for value in (None, 5.4, 119, 150)] == ["–", "5 min", "119 min", "2.5 h"]
    assert in_words(1234.5, Unit.USD) == "$1,234.50"
    assert in_words(66.67, Unit.PERCENT) == "67 %"
    assert in_words(1234567, Unit.TOKENS) == "1,234,567"


MOMENTS = st.floats(0, 2 * NOW, allow_nan=False)


@given(st.lists(st.tuples(MOMENTS, MOMENTS)), st.sampled_from(list(SPANS)))
def test_at_most_as_many_wait_as_there_are_and_at_least_as_many_as_at_any_moment(ends, days):
    waits = [Wait("shop", min(pair), max(pair)) for pair in ends]
    for start in Span.until(NOW, days).starts:
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
def test_nothing_is_lost_or_counted_twice(spent, days):
    span = Span.until(NOW, days)
    found = figure("spend", Past([Bill(at, project, usd, 1) for at, project, usd in spent]), span)
    inside = sum(usd for at, _, usd in spent if span.start <= at < TODAY + DAY)
    assert math.isclose(sum(sum(one.values) for one in found.series), inside, rel_tol=1e-9)
