"""A run can be written into its progress comment and read back unchanged."""

from dataclasses import replace

from bot.domain.comment import CommentOutcome, CommentPlace, CommentRecord
from bot.domain.run import Phase, Run, RunHold, RunSpend, RunStatus, RunTurns
from bot.engine.run_note import note_for, parse_note

RUN = Run(
    "shop#1",
    "shop",
    2,
    Phase.REVIEW,
    turns=RunTurns(number=3, ended=3),
    session="s-1",
    spend=RunSpend(usd=1.5),
    hold=RunHold(agent_summary="long"),
    status=RunStatus(digest="x"),
)


def test_a_run_is_read_from_its_note_unchanged_except_for_its_display():
    assert parse_note(note_for(RUN), key="shop#1", project="shop") == replace(
        RUN, hold=replace(RUN.hold, agent_summary=""), status=RunStatus(digest="noted")
    )


def test_a_note_gets_the_project_of_its_reader_and_must_match_the_issue():
    assert parse_note(note_for(RUN), key="shop#2", project="shop") is None
    found = parse_note(note_for(RUN), key="shop#1", project="store")
    assert found
    assert found.project == "store"


def test_invalid_data_is_no_note():
    for text in ("", "{", "[]", "3", '{"key": "shop#1"}', '{"key": "shop#1", "project": "shop", "phase": "lost"}'):
        assert parse_note(text, key="shop#1", project="shop") is None


def test_a_note_of_a_very_long_conversation_keeps_the_newest_comments():
    heard = tuple(
        CommentRecord(f"issue-{at}", CommentPlace.ISSUE, 1, CommentOutcome.DECLINED, reason="no " * 20)
        for at in range(2000)
    )
    note = note_for(replace(RUN, comments=heard))
    assert len(note) <= 30_000
    found = parse_note(note, key="shop#1", project="shop")
    assert found
    assert found.comments[-1].comment == "issue-1999"
    assert len(found.comments) > 100
