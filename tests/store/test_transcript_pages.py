"""A transcript read in pages equals the transcript."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.turn import Event, EventKind, Todo, TurnOrder
from bot.store.transcript_pages import page_after, page_before
from bot.store.transcripts import Transcripts


def line(number: int, turn: int = 1, size: int = 20) -> str:
    return json.dumps({"turn": f"r/turn-{turn}", "kind": "text", "at": 1.0, "text": f"{number} " + "é" * size}) + "\n"


def texts(stretch):
    return [spoken.event.text.split()[0] for spoken in stretch.lines]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=30), st.integers(20, 900))
def test_reading_backwards_and_forwards_returns_every_line_once(tmp_path_factory, sizes, most):
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    path.write_text("".join(line(number, size=size) for number, size in enumerate(sizes)))
    everything = [str(number) for number in range(len(sizes))]

    found, place = [], None
    while place != 0:
        stretch = page_before(path, place, most=most)
        found, place = texts(stretch) + found, stretch.begin
    assert found == everything

    found, place = [], 0
    while (stretch := page_after(path, place, most=most)).lines:
        assert stretch.begin == place
        found, place = found + texts(stretch), stretch.end
    assert found == everything
    assert place == path.stat().st_size


def test_an_incomplete_line_is_not_read(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(line(1) + line(2)[:-5])
    assert texts(page_before(path)) == ["1"]
    assert texts(page_after(path, 0)) == ["1"]
    assert page_after(path, 0).end == len(line(1).encode())


def test_invalid_lines_are_left_out(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"turn": "x"}\nnonsense\n[]\n{"turn": "x", "kind": "unheard of"}\n' + line(5))
    assert texts(page_before(path)) == ["5"]


def test_a_position_within_a_line_means_its_beginning(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(line(1) + line(2))
    assert texts(page_after(path, len(line(1).encode()) + 3)) == ["2"]
    assert texts(page_after(path, 10**9)) == []


def test_a_page_knows_the_turn_before_it(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(line(1, turn=1) + line(2, turn=2))
    assert page_before(path).before == ""
    assert page_after(path, len(line(1).encode())).before == "r/turn-1"


def test_written_events_are_read_back_unchanged(tmp_path):
    events = [
        Event(EventKind.PROMPT, 1.0, "do it"),
        Event(EventKind.TOOL, 2.0, "reads", tool="Read", id="t1", tokens=7),
        Event(EventKind.TODOS, 3.0, todos=(Todo("one", done=True), Todo("two", done=False, active=True))),
        Event(EventKind.RESULT, 4.0, "success", session_cost_usd=0.25),
    ]
    transcripts = Transcripts(tmp_path)
    request = TurnOrder("r/turn-1", "r", "shop", "b", "", "", "", "", 1.0)
    for event in events:
        transcripts.append(request, event)
    transcripts.flush()
    assert [spoken.event for spoken in page_before(transcripts.path("r")).lines] == events


@pytest.mark.parametrize("look", [page_before, lambda path: page_after(path, 7)])
def test_a_missing_transcript_is_empty(tmp_path, look):
    assert look(tmp_path / "none").lines == ()
