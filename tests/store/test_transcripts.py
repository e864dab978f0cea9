"""Transcripts: events of agents are written completely and in order, and wait while the disk is full."""

import pytest

from bot.domain.turn import Event, EventKind, Todo, TurnOrder
from bot.store.transcripts import Transcripts

REQUEST = TurnOrder("acme/shop#1/1/turn-1", "acme/shop#1/1", "shop", "b", "main", "p", "b", "m", 0.0)


@pytest.fixture
def transcripts(tmp_path):
    return Transcripts(tmp_path)


def test_events_are_read_back_in_order_with_their_fields(transcripts):
    transcripts.append(REQUEST, Event(EventKind.TEXT, 1.0, text="a\nb\ud800"))
    transcripts.append(REQUEST, Event(EventKind.TODOS, 2.0, todos=(Todo("one", done=True),)))
    transcripts.flush()
    transcripts.append(REQUEST, Event(EventKind.TOOL, 3.0, text="runs the tests", tool="Bash", id="t1"))
    transcripts.flush()
    first, second, third = transcripts.read(REQUEST.run_id)
    assert first["kind"] == "text"
    assert first["text"].startswith("a\nb")
    assert second["todos"] == [{"text": "one", "done": True, "active": False}]
    assert (third["turn"], third["tool"]) == (REQUEST.turn_id, "Bash")
    assert transcripts.last_action(REQUEST.run_id) == "runs the tests"


def test_what_the_host_does_counts_as_an_action_until_it_has_ended(transcripts):
    for kind, text in ((EventKind.STEP, "Fetching 4 %"), (EventKind.WAITING, "Fetching 4 %; no progress for 1 min")):
        transcripts.append(REQUEST, Event(kind, 1.0, text))
        transcripts.flush()
        assert transcripts.last_action(REQUEST.run_id) == text
    transcripts.append(REQUEST, Event(EventKind.STEP, 2.0))
    transcripts.flush()
    assert transcripts.last_action(REQUEST.run_id) == ""


def test_an_incomplete_line_is_not_read(transcripts):
    transcripts.append(REQUEST, Event(EventKind.TEXT, 1.0, text="whole"))
    transcripts.flush()
    with transcripts.path(REQUEST.run_id).open("a") as file:
        file.write('{"kind": "te')
    assert [line["text"] for line in transcripts.read(REQUEST.run_id)] == ["whole"]


def test_events_refused_by_a_full_disk_are_written_later(transcripts):
    transcripts.path(REQUEST.run_id).symlink_to("/dev/full")
    transcripts.append(REQUEST, Event(EventKind.TEXT, 1.0, text="kept"))
    with pytest.raises(OSError, match="No space left"):
        transcripts.flush()
    transcripts.path(REQUEST.run_id).unlink()
    transcripts.flush()
    assert [line["text"] for line in transcripts.read(REQUEST.run_id)] == ["kept"]


def test_two_runs_never_share_a_transcript_file(transcripts):
    paths = {transcripts.path(name) for name in ("a/b#1/1", "a-b#1/1", "a/b-1/1", "a/b#11")}
    assert len(paths) == 4


def test_the_to_do_list_is_the_last_one_in_the_transcript(transcripts):
    assert transcripts.todos(REQUEST.run_id) == ()
    for done in (False, True):
        transcripts.append(
            REQUEST, Event(EventKind.TODOS, 1.0, todos=(Todo("one", done=done), Todo("two", done=False)))
        )
        transcripts.flush()
        transcripts.append(REQUEST, Event(EventKind.TEXT, 2.0, text='"kind": "todos"'))
        transcripts.flush()
        assert transcripts.todos(REQUEST.run_id) == (Todo("one", done=done), Todo("two", done=False))


def test_unicode_line_separators_do_not_split_an_event(transcripts):
    transcripts.append(REQUEST, Event(EventKind.TOOL, 1.0, text="runs \u2028 it \x85"))
    transcripts.flush()
    assert transcripts.last_action(REQUEST.run_id) == "runs \u2028 it \x85"


def test_a_tail_that_begins_within_a_line_is_read_from_the_next_one(transcripts):
    transcripts.append(REQUEST, Event(EventKind.TOOL, 1.0, text='"kind": "tool"' * 30_000))
    transcripts.append(REQUEST, Event(EventKind.TEXT, 2.0, text="said"))
    transcripts.flush()
    assert transcripts.last_action(REQUEST.run_id) == ""
