"""What is painted fits the window, whatever is written; lanes that are cut say how many more there are."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bot.cli.tables import shares, within
from bot.domain.health import healths
from bot.domain.run import Phase, Run
from bot.status.as_json import LANES, Glimpse, Picture

SIZES = st.dictionaries(st.sampled_from(list(LANES)), st.integers(1, 40))


def painted(seen: Picture, columns: int, lines: int) -> list[str]:
    paper = io.StringIO()
    console = Console(file=paper, width=columns, height=lines, highlight=False, color_system=None)
    console.print(within(seen, columns, lines), end="")
    return paper.getvalue().rstrip("\n").split("\n")


def lanes_of(**sizes: int) -> Picture:
    runs = [
        Run(f"shop#{lane}-{number}", "shop", phase=Phase(lane))
        for lane, size in sizes.items()
        for number in range(size)
    ]
    return Picture(0.0, runs, {run.id: Glimpse(f"Title of {run.key}") for run in runs})


@given(SIZES, st.integers(0, 60))
def test_what_each_lane_gets_fits_and_nobody_gets_more_while_another_has_none(sizes, room):
    shown = shares(sizes, room)
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
def test_no_state_of_things_is_higher_or_wider_than_the_window(told, health, columns, lines):
    runs = [Run(f"shop#{n}", "shop", phase=phase, reason=why) for n, (phase, _, why) in enumerate(told)]
    glimpses = {run.id: Glimpse(title) for run, (_, title, _) in zip(runs, told, strict=True)}
    drawn = painted(Picture(0.0, runs, glimpses, health=healths(health)), columns, lines)
    assert len(drawn) <= lines
    assert all(Console().measure(line).maximum <= columns for line in drawn)


def test_a_lane_that_is_cut_says_how_many_more_there_are():
    drawn = painted(lanes_of(working=30, queued=3), 60, 12)
    assert [line.rstrip() for line in drawn if "more" in line] == ["  and 25 more"]
    assert len(drawn) == 12
    assert drawn[-1].startswith("Spent today")


def test_where_only_headings_fit_they_say_how_many_there_are():
    drawn = painted(lanes_of(asking=5, working=30), 60, 3)
    assert [line.strip() for line in drawn] == ["Needs you (5)", "Working (30)", "Spent today: $0.00"]


def test_troubles_leave_room_for_the_runs():
    seen = lanes_of(working=3)
    many = Picture(0.0, seen.runs, seen.glimpses, health=healths({f"trouble {n}": (False, "bad") for n in range(20)}))
    drawn = painted(many, 60, 12)
    assert drawn[-1].strip() == "and 18 more"
    assert sum("Title of" in line for line in drawn) == 3


def test_a_narrow_window_shows_keys_and_titles():
    (_, line, *_) = painted(lanes_of(working=1), 40, 10)
    assert line.rstrip() == "  shop#working-0 Title of shop#working-0"


def test_t18_no_title_is_obeyed():
    seen = lanes_of(working=1)
    (run,) = seen.runs
    hostile = Picture(
        0.0,
        [run],
        {run.id: Glimpse("\x1b]0;owned\x07Fix\x1b[2J it\u202e")},
        health=healths({"\x1b[2J": (False, "\x9b31m")}),
    )
    drawn = painted(hostile, 80, 10)
    assert all(line.isprintable() for line in drawn)
    assert "Fix it" in drawn[1]
