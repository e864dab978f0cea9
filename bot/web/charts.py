"""A figure as a small chart: SVG that says the same without colours, and holds neither style nor script. Pure.

Whatever comes from outside is escaped here; where things are is in numbers of our own.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from bot.domain.statistics import Figure, Unit, in_words
from bot.text.visible import on_one_line

WIDTH, HEIGHT = 480, 190
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 12, 26
"""The frame around the bars."""
_GAP = 0.25
"""Of a bar's place."""
_TICKS = 2
_LABELS = 5
_NO_CENTS = 10
_LEAST = 1e-6
"""What is less is nothing."""


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    series: int
    told: str


def chart(figure: Figure) -> Markup:
    name = f"chart-{figure.name}"
    top = _top(figure)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f' aria-labelledby="{name}-t" aria-describedby="{name}-d">',
        f'<title id="{name}-t">{_text(figure.title)}</title>',
        f'<desc id="{name}-d">{_text(f"{figure.about}: {figure.told}.")}</desc>',
        *_grid(figure, top),
        *(_drawn(bar) for bar in bars_of(figure)),
        *_days(figure),
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704 - put together here, of escaped text and numbers


def bars_of(figure: Figure) -> Iterator[Bar]:
    top, place = _top(figure), (WIDTH - LEFT - RIGHT) / max(len(figure.starts), 1)
    inner = place * (1 - _GAP)
    for column, start in enumerate(figure.starts):
        x, floor = LEFT + column * place + place * _GAP / 2, 0.0
        for number, series in enumerate(figure.series):
            value = series.values[column]
            if not value:
                continue
            told = f"{day(start)}, {on_one_line(series.name)}: {in_words(value, figure.unit)}"
            if figure.stacked:
                yield Bar(x, _y(floor + value, top), inner, _y(floor, top) - _y(floor + value, top), number, told)
                floor += value
            else:
                width = inner / len(figure.series)
                yield Bar(x + number * width, _y(value, top), width, _y(0, top) - _y(value, top), number, told)


def nice_top(most: float) -> float:
    """The least round number that is no smaller, and of which the half is round as well."""
    if most < _LEAST:
        return 2.0
    power = 10.0 ** math.floor(math.log10(most))
    return next((step * power for step in (1, 2, 4, 6) if step * power >= most), 10 * power)


def day(at: float) -> str:
    return time.strftime("%d %b", time.gmtime(at))


def _top(figure: Figure) -> float:
    if figure.unit is Unit.PERCENT:
        return 100.0
    columns = zip(*(series.values for series in figure.series), strict=True)
    together = sum if figure.stacked else max
    most = max((float(together(value or 0.0 for value in column)) for column in columns), default=0.0)
    return max(nice_top(most), 2.0 if figure.unit is Unit.RUNS else 0.0)  # there is no half a run


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)


def _drawn(bar: Bar) -> str:
    at = f'x="{bar.x:.2f}" y="{bar.y:.2f}" width="{bar.width:.2f}" height="{bar.height:.2f}"'
    return f'<rect class="s{bar.series}" {at}><title>{_text(bar.told)}</title></rect>'


def _grid(figure: Figure, top: float) -> Iterator[str]:
    for tick in range(_TICKS + 1):
        value = top * tick / _TICKS
        y = f"{_y(value, top):.2f}"
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        label = _text(_in_short(value, figure.unit))
        yield f'<text class="tick" x="{LEFT - 6}" y="{y}" dy="0.32em" text-anchor="end">{label}</text>'


def _in_short(value: float, unit: Unit) -> str:
    """There is little room beside a chart."""
    money = "$" if unit is Unit.USD else ""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size and unit in {Unit.USD, Unit.TOKENS}:
            return f"{money}{value / size:,.4g} {letter}"
    return f"{money}{value:g}" if money and value >= _NO_CENTS else in_words(value, unit)


def _days(figure: Figure) -> Iterator[str]:
    every = max(math.ceil(len(figure.starts) / _LABELS), 1)
    place = (WIDTH - LEFT - RIGHT) / max(len(figure.starts), 1)
    for column, start in list(enumerate(figure.starts))[::-1][::every]:
        x = LEFT + (column + 0.5) * place
        yield f'<text class="tick" x="{x:.2f}" y="{HEIGHT - 6}" text-anchor="middle">{_text(day(start))}</text>'


def _text(text: str) -> str:
    return escape(on_one_line(text))


def rows_of(figure: Figure) -> Sequence[tuple[str, Sequence[str]]]:
    """The same as a table: the day, and what each series says of it."""
    return [
        (day(start), [in_words(series.values[column], figure.unit) for series in figure.series])
        for column, start in enumerate(figure.starts)
    ]
