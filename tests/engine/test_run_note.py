"""A run fits into its own progress comment, and comes out of it as it was."""

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


def test_a_run_is_read_as_it_was_noted_but_for_how_it_was_shown():
    assert parse_note(note_for(RUN), key="shop#1", project="shop") == replace(
        RUN, hold=replace(RUN.hold, agent_summary=""), status=replace(RUN.status, digest="")
    )


def test_it_belongs_to_the_project_that_reads_it_and_to_its_own_issue():
    assert parse_note(note_for(RUN), key="shop#2", project="shop") is None
    found = parse_note(note_for(RUN), key="shop#1", project="store")
    assert found
    assert found.project == "store"


def test_nonsense_is_no_note():
    for text in ("", "{", "[]", "3", '{"key": "shop#1"}', '{"key": "shop#1", "project": "shop", "phase": "lost"}'):
        assert parse_note(text, key="shop#1", project="shop") is None


def test_of_a_very_long_talk_the_newest_is_noted():
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
