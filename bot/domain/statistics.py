"""Figures that people look at: what happened, added up by day or by week. Pure.

Days are those of UTC, as budgets count them. A value that nobody can know, such as the median of nothing, is None.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from bot.domain.history import Bill, Past, Wait

DAY = 86400.0
SPANS: Mapping[int, int] = {7: 1, 30: 1, 90: 7}
"""How many days are looked back, and how many of them are one bar; whole weeks, so 90 are 91."""
_SERIES = 6
"""More of them nobody tells apart: the last one is all others."""
_OTHERS = "others"


class Unit(StrEnum):
    USD = "usd"
    TOKENS = "tokens"
    RUNS = "runs"
    MINUTES = "minutes"
    PERCENT = "percent"


@dataclass(frozen=True, slots=True)
class Span:
    """The days up to the end of today."""

    start: float
    days: int
    step: int = 1

    @classmethod
    def until(cls, now: float, days: int) -> "Span":
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
class Series:
    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    """Short, for addresses."""
    title: str
    about: str
    unit: Unit
    starts: Sequence[float]
    series: Sequence[Series]
    told: str
    """All of it in a few words."""
    stacked: bool = False
    """The series add up to something."""


def figures_of(past: Past, span: Span) -> Sequence[Figure]:
    return [_spend(past, span), _done(past, span), _time(past, span), _merged(past, span), _queue(past, span),
            _tokens(past, span)]  # fmt: skip


def _spend(past: Past, span: Span) -> Figure:
    series = _by_project(past.bills, span, lambda bill: bill.usd)
    told = f"${sum(bill.usd for bill in past.bills if span.find(bill.at) is not None):,.2f} in all"
    about = "What agents cost, by project"
    return Figure("spend", "Spend", about, Unit.USD, span.starts, series, told, stacked=True)


def _tokens(past: Past, span: Span) -> Figure:
    series = _by_project(past.bills, span, lambda bill: bill.tokens)
    told = f"{sum(bill.tokens for bill in past.bills if span.find(bill.at) is not None):,} in all"
    about = "What agents read and wrote, by project"
    return Figure("tokens", "Tokens", about, Unit.TOKENS, span.starts, series, told, stacked=True)


def _by_project(bills: Sequence[Bill], span: Span, amount: Callable[[Bill], float]) -> Sequence[Series]:
    """The dearest first."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * len(span.starts))
    for bill in bills:
        if (place := span.find(bill.at)) is not None:
            sums[bill.project][place] += amount(bill)
    ordered = sorted(sums.items(), key=lambda pair: (-sum(pair[1]), pair[0]))
    if len(ordered) > _SERIES:
        rest = [values for _, values in ordered[_SERIES - 1 :]]
        ordered = [*ordered[: _SERIES - 1], (_OTHERS, [sum(column) for column in zip(*rest, strict=True)])]
    return [Series(name, values) for name, values in ordered]


def _done(past: Past, span: Span) -> Figure:
    merged = _counted((end.at for end in past.ends if end.merged), span)
    other = _counted((end.at for end in past.ends if not end.merged), span)
    told = f"{sum(merged):.0f} merged, {sum(other):.0f} ended otherwise"
    series = [Series("merged", merged), Series("ended otherwise", other)]
    about = "Issues whose run is over, and how it ended"
    return Figure("throughput", "Issues done", about, Unit.RUNS, span.starts, series, told, stacked=True)


def _time(past: Past, span: Span) -> Figure:
    groups = _grouped(((offer.at, offer.seconds / 60) for offer in past.offers), span)
    series = [
        Series("median", [median(group) if group else None for group in groups]),
        Series("nine of ten", [nearest_rank(group, 0.9) if group else None for group in groups]),
    ]
    everything = [one for group in groups for one in group]
    told = "no pull requests"
    if everything:
        most = in_words(nearest_rank(everything, 0.9), Unit.MINUTES)
        told = f"half within {in_words(median(everything), Unit.MINUTES)}, nine of ten within {most}"
    about = "From the label to the first pull request"
    return Figure("time-to-pull-request", "Time to pull request", about, Unit.MINUTES, span.starts, series, told)


def _merged(past: Past, span: Span) -> Figure:
    groups = _grouped(((end.at, float(end.merged)) for end in past.ends if end.offered), span)
    rates = [100 * sum(group) / len(group) if group else None for group in groups]
    everything = [one for group in groups for one in group]
    told = f"{sum(everything):.0f} of {len(everything)}" if everything else "no pull requests ended"
    about = "Of the pull requests that ended, those that were merged"
    return Figure("merge-rate", "Merge rate", about, Unit.PERCENT, span.starts, [Series("merged", rates)], told)


def _queue(past: Past, span: Span) -> Figure:
    most = [
        float(most_at_once(past.waits, start, start + span.step * DAY)) for start in span.starts
    ]  # fmt: skip
    told = f"at most {max(most, default=0.0):.0f} at once"
    about = "The most runs that waited at once"
    return Figure("queue", "Queue", about, Unit.RUNS, span.starts, [Series("waiting", most)], told)


def most_at_once(waits: Iterable[Wait], start: float, end: float) -> int:
    """Who begins in the moment in which another ends never waited beside it."""
    there = [wait for wait in waits if wait.begun_at < end and wait.ended_at > start]
    moments = sorted([(max(wait.begun_at, start), 1) for wait in there] + [(wait.ended_at, -1) for wait in there])
    most = now = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The least of them that so many are no greater than."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def in_words(value: float | None, unit: Unit) -> str:
    match unit:
        case _ if value is None:
            return "–"
        case Unit.USD:
            return f"${value:,.2f}"
        case Unit.MINUTES if value >= 120:  # noqa: PLR2004 - from then on people think in hours
            return f"{value / 60:,.1f} h"
        case Unit.MINUTES:
            return f"{value:,.0f} min"
        case Unit.PERCENT:
            return f"{value:.0f} %"
        case Unit.TOKENS | Unit.RUNS:
            return f"{value:,.0f}"


def _counted(moments: Iterable[float], span: Span) -> list[float]:
    return [float(len(group)) for group in _grouped(((at, 1.0) for at in moments), span)]


def _grouped(pairs: Iterable[tuple[float, float]], span: Span) -> list[list[float]]:
    groups: list[list[float]] = [[] for _ in span.starts]
    for at, value in pairs:
        if (place := span.find(at)) is not None:
            groups[place].append(value)
    return groups
