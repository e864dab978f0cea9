"""Statistics: history aggregated by day or week. Pure.

Days are UTC, as budgets count them. An unknown value, such as the median of nothing, is None.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from bot.domain.history import History, QueueWait, TurnBill
from bot.text.money import grouped_dollars

DAY = 86400.0
SPANS: Mapping[int, int] = {7: 1, 30: 1, 90: 7}
"""Days of the period and days per bar; weeks are complete, so 90 become 91."""
_SERIES = 6
"""Most series in one chart; the last one sums up all others."""
_OTHERS = "others"


class StatisticUnit(StrEnum):
    USD = "usd"
    TOKENS = "tokens"
    RUNS = "runs"
    MINUTES = "minutes"
    PERCENT = "percent"


@dataclass(frozen=True, slots=True)
class DaySpan:
    """A number of days that ends with today."""

    start: float
    days: int
    step: int = 1

    @classmethod
    def until(cls, now: float, days: int) -> "DaySpan":
        step = SPANS[days]
        whole = math.ceil(days / step) * step
        return cls(now - now % DAY + DAY - whole * DAY, whole, step)

    @property
    def starts(self) -> Sequence[float]:
        return [self.start + number * self.step * DAY for number in range(self.days // self.step)]

    def find(self, at: float) -> int | None:
        """In which of them it was."""
        number = math.floor((at - self.start) / (self.step * DAY))
        return number if 0 <= number < self.days // self.step else None


@dataclass(frozen=True, slots=True)
class StatisticSeries:
    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Statistic:
    name: str
    """Short, for addresses."""
    title: str
    about: str
    unit: StatisticUnit
    starts: Sequence[float]
    series: Sequence[StatisticSeries]
    summary: str
    """Sum or average of the whole period, as text."""
    stacked: bool = False
    """The sum of the series has a meaning."""


def statistics_of(past: History, span: DaySpan) -> Sequence[Statistic]:
    return [_spend(past, span), _done(past, span), _time(past, span), _merged(past, span), _queue(past, span),
            _tokens(past, span)]  # fmt: skip


def _spend(past: History, span: DaySpan) -> Statistic:
    series = _by_project(past.bills, span, lambda bill: bill.usd)
    summary = f"${sum(bill.usd for bill in past.bills if span.find(bill.at) is not None):,.2f} in all"
    about = "Cost of agents, by project"
    return Statistic("spend", "Spend", about, StatisticUnit.USD, span.starts, series, summary, stacked=True)


def _tokens(past: History, span: DaySpan) -> Statistic:
    series = _by_project(past.bills, span, lambda bill: bill.tokens)
    summary = f"{sum(bill.tokens for bill in past.bills if span.find(bill.at) is not None):,} in all"
    about = "Tokens that agents read and wrote, by project"
    return Statistic("tokens", "Tokens", about, StatisticUnit.TOKENS, span.starts, series, summary, stacked=True)


def _by_project(
    bills: Sequence[TurnBill], span: DaySpan, amount: Callable[[TurnBill], float]
) -> Sequence[StatisticSeries]:
    """Returns one series per project, the most expensive first."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * len(span.starts))
    for bill in bills:
        if (place := span.find(bill.at)) is not None:
            sums[bill.project][place] += amount(bill)
    ordered = sorted(sums.items(), key=lambda pair: (-sum(pair[1]), pair[0]))
    if len(ordered) > _SERIES:
        rest = [values for _, values in ordered[_SERIES - 1 :]]
        ordered = [*ordered[: _SERIES - 1], (_OTHERS, [sum(column) for column in zip(*rest, strict=True)])]
    return [StatisticSeries(name, values) for name, values in ordered]


def _done(past: History, span: DaySpan) -> Statistic:
    merged = _counted((end.at for end in past.finished_runs if end.merged), span)
    other = _counted((end.at for end in past.finished_runs if not end.merged), span)
    summary = f"{sum(merged):.0f} merged, {sum(other):.0f} ended otherwise"
    series = [StatisticSeries("merged", merged), StatisticSeries("ended otherwise", other)]
    about = "Finished runs, by result"
    return Statistic("throughput", "Issues done", about, StatisticUnit.RUNS, span.starts, series, summary, stacked=True)


def _time(past: History, span: DaySpan) -> Statistic:
    groups = _grouped(((offer.at, offer.seconds / 60) for offer in past.pull_requests), span)
    series = [
        StatisticSeries("median", [median(group) if group else None for group in groups]),
        StatisticSeries("nine of ten", [nearest_rank(group, 0.9) if group else None for group in groups]),
    ]
    everything = [one for group in groups for one in group]
    summary = "no pull requests"
    if everything:
        most = format_value(nearest_rank(everything, 0.9), StatisticUnit.MINUTES)
        summary = f"half within {format_value(median(everything), StatisticUnit.MINUTES)}, nine of ten within {most}"
    about = "From the label to the first pull request"
    return Statistic(
        "time-to-pull-request", "Time to pull request", about, StatisticUnit.MINUTES, span.starts, series, summary
    )


def _merged(past: History, span: DaySpan) -> Statistic:
    groups = _grouped(((end.at, float(end.merged)) for end in past.finished_runs if end.had_pull_request), span)
    rates = [100 * sum(group) / len(group) if group else None for group in groups]
    everything = [one for group in groups for one in group]
    summary = f"{sum(everything):.0f} of {len(everything)}" if everything else "no pull requests closed"
    about = "Share of closed pull requests that were merged"
    return Statistic(
        "merge-rate",
        "Merge rate",
        about,
        StatisticUnit.PERCENT,
        span.starts,
        [StatisticSeries("merged", rates)],
        summary,
    )


def _queue(past: History, span: DaySpan) -> Statistic:
    most = [
        float(most_at_once(past.waits, start, start + span.step * DAY)) for start in span.starts
    ]  # fmt: skip
    summary = f"at most {max(most, default=0.0):.0f} at once"
    about = "Highest number of runs that waited at the same time"
    return Statistic(
        "queue", "Queue", about, StatisticUnit.RUNS, span.starts, [StatisticSeries("waiting", most)], summary
    )


def most_at_once(waits: Iterable[QueueWait], start: float, end: float) -> int:
    """A run that begins at the moment another ends never waited beside it."""
    there = [wait for wait in waits if wait.begun_at < end and wait.ended_at > start]
    moments = sorted([(max(wait.begun_at, start), 1) for wait in there] + [(wait.ended_at, -1) for wait in there])
    most = now = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most


def nearest_rank(values: Sequence[float], share: float) -> float:
    """Returns the percentile by the nearest-rank method."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def format_value(value: float | None, unit: StatisticUnit) -> str:
    match unit:
        case _ if value is None:
            return "–"
        case StatisticUnit.USD:
            return grouped_dollars(value)
        case StatisticUnit.MINUTES if value >= 120:  # noqa: PLR2004 - longer times read better in hours
            return f"{value / 60:,.1f} h"
        case StatisticUnit.MINUTES:
            return f"{value:,.0f} min"
        case StatisticUnit.PERCENT:
            return f"{value:.0f} %"
        case StatisticUnit.TOKENS | StatisticUnit.RUNS:
            return f"{value:,.0f}"


def _counted(moments: Iterable[float], span: DaySpan) -> list[float]:
    return [float(len(group)) for group in _grouped(((at, 1.0) for at in moments), span)]


def _grouped(pairs: Iterable[tuple[float, float]], span: DaySpan) -> list[list[float]]:
    groups: list[list[float]] = [[] for _ in span.starts]
    for at, value in pairs:
        if (place := span.find(at)) is not None:
            groups[place].append(value)
    return groups
