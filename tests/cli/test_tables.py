"""The status fits the window; lanes that are cut show how many more runs there are."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bot.cli.tables import render_status_within, rows_that_fit
from bot.domain.health import health_by_name
from bot.domain.run import Phase, Run
from bot.status.as_json import LANES, RunSummary, StatusSnapshot

SIZES = st.dictionaries(st.sampled_from(list(LANES)), st.integers(1, 40))


def rendered(seen: StatusSnapshot, columns: int, lines: int) -> list[str]:
    paper = io.StringIO()
    console = Console(file=paper, width=columns, height=lines, highlight=False, color_system=None)
    console.print(render_status_within(seen, columns, lines), end="")
    return paper.getvalue().rstrip("\n").split("\n")


def lanes_of(**sizes: int) -> StatusSnapshot:
    runs = [
        Run(f"shop#{lane}-{number}", "shop", phase=Phase(lane))
        for lane, size in sizes.items()
        for number in range(size)
    ]
    return StatusSnapshot(0.0, runs, {run.id: RunSummary(f"Title of {run.key}") for run in runs})


@given(SIZES, st.integers(0, 60))
def test_rows_fit_the_window_and_are_distributed_evenly(sizes, room):
    shown = rows_that_fit(sizes, room)
    assert all(0 <= shown[lane] <= size for lane, size in sizes.items())
    lines = sum(1 + shown[lane] + (0 < shown[lane] < size) for lane, size in sizes.items())
    assert lines <= max(room, len(sizes))
    assert shown == sizes or sum(1 + size for size in sizes.values()) > room


@given(
    st.lists(st.tuples(st.sampled_from(list(Phase)), st.text(max_size=40), st.text(max_size=40)), max_size=30),
    st.dictionaries(st.text(max_size=9), st.tuples(st.booleans(), st.text(max_size=99)), max_size=9),
    st.integers(10, 130),
    st.integers(3, 40),
)
def test_the_status_is_never_higher_or_wider_than_the_window(told, health, columns, lines):
    runs = [Run(f"shop#{n}", "shop", phase=phase, reason=why) for n, (phase, _, why) in enumerate(told)]
    summaries = {run.id: RunSummary(title) for run, (_, title, _) in zip(runs, told, strict=True)}
    drawn = rendered(StatusSnapshot(0.0, runs, summaries, health=health_by_name(health)), columns, lines)
    assert len(drawn) <= lines
    assert all(Console().measure(line).maximum <= columns for line in drawn)


def test_a_lane_that_is_cut_shows_how_many_runs_are_hidden():
    drawn = rendered(lanes_of(working=30, queued=3), 60, 12)
    assert [line.rstrip() for line in drawn if "more" in line] == ["  and 25 more"]
    assert len(drawn) == 12
    assert drawn[-1].startswith("Spent today")


def test_headings_without_runs_show_the_number_of_runs():
    drawn = rendered(lanes_of(asking=5, working=30), 60, 3)
    assert [line.strip() for line in drawn] == ["Needs you (5)", "Working (30)", "Spent today: $0.00"]


def test_problems_leave_room_for_the_runs():
    seen = lanes_of(working=3)
    many = StatusSnapshot(
        0.0, seen.runs, seen.summaries, health=health_by_name({f"trouble {n}": (False, "bad") for n in range(20)})
    )
    drawn = rendered(many, 60, 12)
    assert drawn[-1].strip() == "and 18 more"
    assert sum("Title of" in line for line in drawn) == 3


def test_a_narrow_window_shows_keys_and_titles():
    (_, line, *_) = rendered(lanes_of(working=1), 40, 10)
    assert line.rstrip() == "  shop#working-0 Title of shop#working-0"


def test_t18_a_title_cannot_control_the_terminal():
    seen = lanes_of(working=1)
    (run,) = seen.runs
    hostile = StatusSnapshot(
        0.0,
        [run],
        {run.id: RunSummary("\x1b]0;owned\x07Fix\x1b[2J it\u202e")},
        health=health_by_name({"\x1b[2J": (False, "\x9b31m")}),
    )
    drawn = rendered(hostile, 80, 10)
    assert all(line.isprintable() for line in drawn)
    assert "Fix it" in drawn[1]
