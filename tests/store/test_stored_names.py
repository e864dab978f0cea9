"""Data of an earlier version is read under the present names: its database, its notes, its turn reports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import bot
from bot.domain.change import Change, DiffStat, FileChange, Objection
from bot.domain.comment import CommentOutcome, CommentPlace, CommentRecord
from bot.domain.health import Health, HealthRecord
from bot.domain.notification import ChannelState, Notification, NotificationKind
from bot.domain.run import (
    ApprovedObjection,
    JournalEntry,
    Phase,
    Run,
    RunBudget,
    RunChecks,
    RunConsent,
    RunHold,
    RunSpend,
    RunStatus,
    RunTurns,
    TurnPurpose,
    WaitReason,
)
from bot.domain.runner_report import CountedTests
from bot.domain.serialize import as_record
from bot.domain.spend import Spend
from bot.domain.stored_names import RENAMED, with_present_names
from bot.domain.turn import Failure, Progress, Todo, TurnAnswer, TurnOutcome, TurnReport, TurnState
from bot.domain.verification import Verification, VerifiedCommand
from bot.engine.run_note import note_for, parse_note
from bot.store.runs import MIGRATIONS, RunStore
from bot.system.database import open_database

RELEASED = Path(__file__).parent / "released"
"""As written by the version whose schema was the eleventh."""
SCHEMA = 11

VERIFICATION = Verification(
    "c1",
    "b1",
    (VerifiedCommand("make test", "web", 1, 2.5, CountedTests(3, 1, 2), "odd", timed_out=True, output="boom"),),
    (VerifiedCommand("make test", "web", 0),),
    "no base",
)
RUN = Run(
    "shop#1",
    "shop",
    2,
    Phase.ASKING,
    WaitReason.BLOCKED,
    "look",
    5.0,
    6.0,
    person="ana",
    request="r-1",
    purpose=TurnPurpose.PUBLISH,
    model="opus",
    plan_approved=True,
    handback_comment="c-9",
    session="s-1",
    diff_stat=DiffStat(2, 30, 4),
    refusals=("reach example.com",),
    comments=(CommentRecord("c1", CommentPlace.ISSUE, 1, CommentOutcome.APPLIED, "abc", "why"),),
    refused_users=("eve",),
    consent=RunConsent("bob", "edit-1", "edit-2", "edit edit-3"),
    hold=RunHold(
        (Objection("link", "a", "leads out", "x 1"),),
        (ApprovedObjection(Objection("size", "", "30 MB"), "ana"),),
        "Done.",
    ),
    checks=RunChecks(1, "f1", "m1", VERIFICATION, 2, "facts1"),
    turns=RunTurns(4, 3, 90.0, 1, 2, 80.0, 99.0),
    spend=RunSpend(1.5, 700, 60.0, 0.25),
    budget=RunBudget(10.0, 5, 7, 1.5),
    status=RunStatus("asking 12", 95.0),
)
PROGRESS = Progress(
    action="edits",
    message="I look.",
    todos=(Todo("a", done=True),),
    session="s-1",
    events=3,
    tokens=70,
    session_cost_usd=0.2,
    last_event_at=6.0,
    tools_running=frozenset({"t1"}),
    delivered=frozenset({"c1"}),
    verifying_since=7.0,
)
REPORT = TurnReport(
    TurnState.LOST,
    PROGRESS,
    session="s-1",
    is_new_session=True,
    failure=Failure.MODEL,
    detail="busy",
    summary="Done.",
    question="Which?",
    retry_at=9.0,
    session_cost_usd=0.2,
    tokens=70,
    agent_turns=2,
    delivered=frozenset({"c1"}),
    answers=(TurnAnswer("c1", declined=True, text="no"),),
    change=Change("b", "c", "b", (FileChange("a.py", 1, 2),)),
    planned=True,
    salvage_ref="refs/x",
    refusals=("reach x",),
    verification=VERIFICATION,
    ended_at=8.0,
)


def released_database(path: Path) -> Path:
    db = open_database(path, MIGRATIONS[:SCHEMA])
    db.execute("PRAGMA foreign_keys = OFF")  # a dump has its tables in the order of the alphabet
    db.executescript((RELEASED / "treehand_schema_11.sql").read_text())
    db.close()
    return path


def test_a_released_database_is_upgraded_without_loss(tmp_path):
    store = RunStore.open(released_database(tmp_path / "treehand.db"))
    assert store.active() == [RUN]
    assert store.kept_reports() == {"shop#1/2/turn-4": REPORT}
    assert store.journal(RUN) == [JournalEntry(7.0, "queued → working")]
    assert store.spending(RUN) == [Spend(3, 7.0, 0.5, 700, 60.0)]
    assert store.turn_outcomes() == [TurnOutcome("shop", "shop#1", 2, 3, 5.0, 7.0, Failure.MODEL, "busy")]
    assert store.notifications.after(0) == [
        Notification(NotificationKind.ASKING, "shop#1/2", "o1", 7.0, "look", id=1),
        Notification(NotificationKind.TROUBLE, "disk", "o2", 8.0, "full", resolved=True, id=2),
    ]
    assert store.notifications.last() == 2
    assert store.notifications.channel("ch") == ChannelState("ch", 1, 2, 0, 3, 9.0, "refused", 4, 5)
    health = Health("disk", ok=False, detail="full", still_works="agents go on")
    assert store.notifications.health_records() == {"disk": HealthRecord(health, 4.0, notified=True)}
    store.save(replace(RUN, phase=Phase.DONE), at=9.0)
    assert store.active() == []
    store.close()


def test_a_released_note_can_be_read():
    text = (RELEASED / "run_note.json").read_text()
    noted = replace(
        RUN,
        status=RunStatus(digest="noted"),
        hold=replace(RUN.hold, agent_summary=""),
        checks=replace(RUN.checks, verification=None),
    )
    assert parse_note(text, key="shop#1", project="shop") == noted
    assert parse_note(note_for(noted), key="shop#1", project="shop") == noted


def test_only_present_names_are_written():
    written = [as_record(RUN), as_record(REPORT), as_record(REPORT.progress), as_record(VERIFICATION)]
    for record, kind in zip(written, ("Run", "TurnReport", "Progress", "Verification"), strict=True):
        assert RENAMED[kind].keys().isdisjoint(record)
    assert "turn_at" not in json.dumps(written)


def test_an_invalid_group_does_not_crash_reading():
    assert with_present_names("Run", {"turns": 3, "turn": 4}) == {"turns": {"number": 4}}


def test_health_records_of_an_earlier_version_get_the_present_names(tmp_path):
    path = tmp_path / "treehand.db"
    db = open_database(path, [one for one in MIGRATIONS if one.name < "0017"], lost="")
    for name in ("disk", "gate", "look shop", "claim shop", "quota GitHub"):
        db.execute("INSERT INTO health VALUES (?, 0, 'down', '', 4.0, 1)", (name,))
    db.commit()
    db.close()
    store = RunStore.open(path)
    records = store.notifications.health_records()
    store.close()
    assert records.keys() == {"disk", "proxy", "poll shop", "lease shop", "rate limit GitHub"}
    assert all(one.notified for one in records.values())


@pytest.mark.parametrize("room", ["store", "services/github", "services/linear", "services/local"])
def test_migrations_are_numbered_without_a_gap(room):
    """A database counts how many it has had: one that is added into a gap would never run, and another one twice."""
    names = sorted(path.name for path in (Path(bot.__file__).parent / room / "migrations").glob("*.sql"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
