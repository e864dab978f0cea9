"""Statistics charts: draws a statistic as SVG bars without inline style or script, readable without colours. Pure.

Rule: every text is escaped; every coordinate is a number of our own.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from bot.domain.statistics import Statistic, StatisticUnit, format_value
from bot.text.invisible_characters import on_one_line

WIDTH, HEIGHT = 480, 190
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 12, 26
"""Margins around the bars."""
_GAP = 0.25
"""Share of a column that stays empty."""
_TICKS = 2
_LABELS = 5
_NO_CENTS = 10
_LEAST = 1e-6
"""Smaller values count as zero."""


@dataclass(frozen=True, slots=True)
class ChartBar:
    x: float
    y: float
    width: float
    height: float
    series: int
    tooltip: str


def chart(statistic: Statistic) -> Markup:
    name = f"chart-{statistic.name}"
    top = _top(statistic)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f' aria-labelledby="{name}-t" aria-describedby="{name}-d">',
        f'<title id="{name}-t">{_text(statistic.title)}</title>',
        f'<desc id="{name}-d">{_text(f"{statistic.about}: {statistic.summary}.")}</desc>',
        *_grid(statistic, top),
        *(_render_bar(bar) for bar in bars_of(statistic)),
        *_day_labels(statistic),
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704 - holds only escaped text and numbers


def bars_of(statistic: Statistic) -> Iterator[ChartBar]:
    top, column_width = _top(statistic), (WIDTH - LEFT - RIGHT) / max(len(statistic.starts), 1)
    inner = column_width * (1 - _GAP)
    for column, start in enumerate(statistic.starts):
        x, floor = LEFT + column * column_width + column_width * _GAP / 2, 0.0
        for number, series in enumerate(statistic.series):
            value = series.values[column]
            if not value:
                continue
            tooltip = f"{day(start)}, {on_one_line(series.name)}: {format_value(value, statistic.unit)}"
            if statistic.stacked:
                yield ChartBar(
                    x, _y(floor + value, top), inner, _y(floor, top) - _y(floor + value, top), number, tooltip
                )
                floor += value
            else:
                width = inner / len(statistic.series)
                yield ChartBar(x + number * width, _y(value, top), width, _y(0, top) - _y(value, top), number, tooltip)


def nice_top(most: float) -> float:
    """The smallest round number that is not below `most` and has a round half."""
    if most < _LEAST:
        return 2.0
    power = 10.0 ** math.floor(math.log10(most))
    return next((step * power for step in (1, 2, 4, 6) if step * power >= most), 10 * power)


def day(at: float) -> str:
    return time.strftime("%d %b", time.gmtime(at))


def _top(statistic: Statistic) -> float:
    if statistic.unit is StatisticUnit.PERCENT:
        return 100.0
    columns = zip(*(series.values for series in statistic.series), strict=True)
    together = sum if statistic.stacked else max
    most = max((float(together(value or 0.0 for value in column)) for column in columns), default=0.0)
    return max(nice_top(most), 2.0 if statistic.unit is StatisticUnit.RUNS else 0.0)  # runs are whole numbers


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)


def _render_bar(bar: ChartBar) -> str:
    at = f'x="{bar.x:.2f}" y="{bar.y:.2f}" width="{bar.width:.2f}" height="{bar.height:.2f}"'
    return f'<rect class="s{bar.series}" {at}><title>{_text(bar.tooltip)}</title></rect>'


def _grid(statistic: Statistic, top: float) -> Iterator[str]:
    for tick in range(_TICKS + 1):
        value = top * tick / _TICKS
        y = f"{_y(value, top):.2f}"
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        label = _text(_short(value, statistic.unit))
        yield f'<text class="tick" x="{LEFT - 6}" y="{y}" dy="0.32em" text-anchor="end">{label}</text>'


def _short(value: float, unit: StatisticUnit) -> str:
    """Short, because the margin is narrow."""
    money = "$" if unit is StatisticUnit.USD else ""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size and unit in {StatisticUnit.USD, StatisticUnit.TOKENS}:
            return f"{money}{value / size:,.4g} {letter}"
    return f"{money}{value:g}" if money and value >= _NO_CENTS else format_value(value, unit)


def _day_labels(statistic: Statistic) -> Iterator[str]:
    every = max(math.ceil(len(statistic.starts) / _LABELS), 1)
    column_width = (WIDTH - LEFT - RIGHT) / max(len(statistic.starts), 1)
    for column, start in list(enumerate(statistic.starts))[::-1][::every]:
        x = LEFT + (column + 0.5) * column_width
        yield f'<text class="tick" x="{x:.2f}" y="{HEIGHT - 6}" text-anchor="middle">{_text(day(start))}</text>'


def _text(text: str) -> str:
    return escape(on_one_line(text))


def rows_of(statistic: Statistic) -> Sequence[tuple[str, Sequence[str]]]:
    """Table rows: the day, and the value of each series."""
    return [
        (day(start), [format_value(series.values[column], statistic.unit) for series in statistic.series])
        for column, start in enumerate(statistic.starts)
    ]
