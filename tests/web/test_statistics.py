"""Statistics: charts are well-formed and hold only text; CSV holds no formula."""

import csv
import io
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.statistics import DAY, Statistic, StatisticSeries, StatisticUnit
from bot.web.statistics import no_formula, to_csv
from bot.web.statistics_charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, bars_of, chart, nice_top

SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.text(max_size=30) | st.sampled_from(["<script>alert(1)</script>", '" onload="x', "]]>", "&amp;", "=1+1"])


@st.composite
def figures(draw) -> Statistic:
    columns = draw(st.integers(0, 31))
    unit, stacked = draw(st.sampled_from(StatisticUnit)), draw(st.booleans())
    most = 100 / 6 if unit is StatisticUnit.PERCENT else 1e12  # of what is stacked
    values = st.lists(st.none() | st.floats(0, most), min_size=columns, max_size=columns)
    lists = draw(st.lists(st.tuples(NAMES, values), max_size=6))
    starts = [number * DAY for number in range(columns)]
    series = [StatisticSeries(name, values) for name, values in lists]
    return Statistic("spend", draw(NAMES), draw(NAMES), unit, starts, series, draw(NAMES), stacked)


@given(figures())
def test_t18_a_chart_is_well_formed_for_any_names(figure):
    root = ET.fromstring(str(chart(figure)).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    allowed = {SVG + name for name in ("svg", "title", "desc", "line", "rect", "text")}
    assert {node.tag for node in root.iter()} <= allowed
    assert not {name for node in root.iter() for name in node.attrib if name.startswith("on") or name == "style"}
    assert not {letter for text in root.itertext() for letter in text if unicodedata.category(letter) == "Cc"}


@given(figures())
def test_bars_stay_within_the_frame(figure):
    for bar in bars_of(figure):
        assert bar.x >= LEFT - 0.01
        assert bar.x + bar.width <= WIDTH - RIGHT + 0.01
        assert bar.y >= TOP - 0.01
        assert bar.y + bar.height <= HEIGHT - BOTTOM + 0.01
        assert bar.height >= 0


@given(figures())
def test_heights_of_bars_are_proportional_to_their_values(figure):
    values = [one.values[column] for column in range(len(figure.starts)) for one in figure.series]
    values = [value for value in values if value]
    heights = [bar.height for bar in bars_of(figure)]
    assert len(heights) == len(values)
    for height, value in zip(heights, values, strict=True):
        assert height * sum(values) == pytest.approx(value * sum(heights), abs=0.01 * sum(values))


def test_a_bar_has_the_height_of_its_value_on_the_axis():
    full = HEIGHT - TOP - BOTTOM
    heights = lambda unit, *values: [  # noqa: E731
        round(bar.height / full, 2)
        for bar in bars_of(Statistic("f", "", "", unit, [0, 1], [StatisticSeries("", values)], ""))
    ]
    assert heights(StatisticUnit.RUNS, 3.0, 1.0) == [0.75, 0.25]  # of 4
    assert heights(StatisticUnit.RUNS, 1.0, None) == [0.5]  # of 2: there is no half a run
    assert heights(StatisticUnit.PERCENT, 30.0, 60.0) == [0.3, 0.6]  # of all, however few there are
    assert heights(StatisticUnit.USD, 0.05, 0.1) == [0.5, 1.0]


@given(st.floats(1e-6, 1e12))
def test_the_top_of_the_axis_is_round_and_just_above_the_maximum(most):
    assert most <= nice_top(most) <= 2 * most * (1 + 1e-9)


def test_the_tooltip_of_a_bar_shows_day_series_and_value():
    figure = Statistic(
        "spend",
        "Spend",
        "Cost",
        StatisticUnit.USD,
        [0.0, DAY],
        [StatisticSeries("a<b", [1.0, None])],
        "all",
        stacked=True,
    )
    (bar,) = bars_of(figure)
    assert bar.tooltip == "01 Jan, a<b: $1.00"
    assert "<title>01 Jan, a&lt;b: $1.00</title>" in chart(figure)
    assert '<title id="chart-spend-t">Spend</title>' in chart(figure)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " =", "\u200b=", "＝"])
def test_t18_no_csv_field_begins_with_a_formula(start):
    assert no_formula(f"{start}HYPERLINK(1)").startswith("'")


@given(figures())
def test_exported_csv_can_be_read_back_unchanged(figure):
    (head, *rows) = csv.reader(io.StringIO(to_csv(figure)))
    assert len(rows) == len(figure.starts)
    assert all(not cell.startswith(("=", "+", "-", "@")) for cell in head)
    for column, row in enumerate(rows):
        values = [one.values[column] for one in figure.series]
        assert [float(cell) if cell else None for cell in row[1:]] == [
            None if value is None else pytest.approx(value, abs=1e-4) for value in values
        ]
