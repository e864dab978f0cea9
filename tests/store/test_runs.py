"""Runs in the database, with a full disk and with a second process. Real SQLite."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.change import DiffStat, Objection
from bot.domain.comment import CommentOutcome, CommentPlace, CommentRecord
from bot.domain.run import ApprovedObjection, Phase, Run, RunTurns, WaitReason
from bot.domain.spend import Spend, TotalSpend
from bot.domain.turn import Failure, TurnOutcome
from bot.errors import Retryable
from bot.store.runs import MIGRATIONS, RunStore
from bot.system.database import open_database

RUN = Run("shop#1", "shop", begun_at=5.0, changed_at=6.0)


def test_a_saved_run_is_loaded_unchanged(store):
    rows = (
        CommentRecord("c1", CommentPlace.ISSUE, 1, CommentOutcome.APPLIED, "abc"),
        CommentRecord("c2", CommentPlace.PULL_REQUEST, 2, CommentOutcome.PENDING),
    )
    run = replace(
        RUN,
        phase=Phase.ASKING,
        wait_reason=WaitReason.QUESTION,
        reason="why?",
        turns=replace(RUN.turns, number=2, ended=2, lost_at=6.5),
        session="s1",
        spend=replace(RUN.spend, usd=0.5, seconds=90.0),
        comments=rows,
        hold=replace(
            RUN.hold,
            objections=(Objection("link", "a\\x1bb", "leads out", "120000 1"),),
            allowed=(ApprovedObjection(Objection("size", "", "30 MB"), "ana"),),
            agent_summary="Done.",
        ),
        refusals=("reach example.com:443 (3 times)",),
        budget=replace(RUN.budget, tokens=5, turns=7, hours=1.5),
        refused_users=("eve",),
        person="ana",
        diff_stat=DiffStat(2, 30, 4),
    )
    store.save(run, at=7.0)
    assert store.active() == [run]
    assert store.find_run("shop#1") == run


def insert_old_run(db: sqlite3.Connection, key: str) -> None:
    """Inserts a run into the columns of an old database."""
    known = {"key": key, "project": "shop", "ordinal": 1, "phase": "queued", "begun_at": 5.0, "changed_at": 6.0}
    known |= dict.fromkeys(("held", "allowed", "refusals", "strangers"), "[]") | {
        "verification": "null",
        "extent": "{}",
    }
    empty = {"TEXT": "", "INTEGER": 0, "REAL": 0.0}
    columns = {row["name"]: empty[row["type"]] for row in db.execute("PRAGMA table_info(runs)")}
    values = {name: known.get(name, value) for name, value in columns.items()}
    db.execute(f"INSERT INTO runs ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)})", values)


def test_a_run_of_a_database_without_holds_is_loaded(tmp_path):
    db = open_database(tmp_path / "treehand.db", MIGRATIONS[:4])
    insert_old_run(db, "shop#1")
    db.commit()
    db.close()
    store = RunStore.open(tmp_path / "treehand.db")
    assert store.find_run("shop#1") == RUN
    store.close()


def test_a_finished_run_is_not_active_but_is_the_newest_and_counted(store):
    store.save(replace(RUN, phase=Phase.DONE), at=7.0)
    assert store.active() == []
    assert store.last_ordinal("shop#1") == 1
    assert [run.key for run in store.latest(ended_since=6.0)] == ["shop#1"]
    assert store.latest(ended_since=6.5) == []


def test_an_issue_cannot_have_two_runs_at_once(store):
    store.save(RUN, at=7.0)
    with pytest.raises(sqlite3.IntegrityError):
        store.save(replace(RUN, ordinal=2), at=7.0)


def test_saving_a_taken_over_run_ends_earlier_ones(store):
    store.save(RUN, at=7.0)
    store.take_over(replace(RUN, ordinal=2), at=8.0)
    assert [run.ordinal for run in store.active()] == [2]
    store.take_over(replace(RUN, ordinal=3, phase=Phase.DONE), at=9.0)
    assert store.active() == []


def test_costs_are_counted_once_per_turn_and_never_reset(store):
    for _ in range(2):
        store.save(RUN, at=7.0, spend=Spend(1, 100.0, 0.25, 10, 60.0))
    store.save(
        replace(RUN, turns=replace(RUN.turns, number=0), spend=replace(RUN.spend, usd=0.0)),
        at=8.0,
        spend=Spend(2, 90_000.0, 0.5, 20, 30.0),
    )
    assert store.spent(since=0) == 0.75
    assert store.spent(since=200) == 0.5
    assert store.spent_by_issue() == {"shop#1": TotalSpend(0.75, 30, 2, 90.0)}
    assert store.cost_by("day") == [("1970-01-01", 0.25, 10), ("1970-01-02", 0.5, 20)]
    assert store.cost_by("project") == [("shop", 0.75, 30)]


def test_spending_of_another_daemon_is_added_once_with_turns_and_time(store):
    store.save(
        replace(
            RUN,
            turns=replace(RUN.turns, number=1, ended=1),
            spend=replace(RUN.spend, usd=0.25, tokens=10, seconds=60.0),
        ),
        at=7.0,
        spend=Spend(1, 7.0, 0.25, 10, 60.0),
    )
    theirs = replace(
        RUN, turns=replace(RUN.turns, number=4, ended=3), spend=replace(RUN.spend, usd=1.0, tokens=50, seconds=100.0)
    )
    for _ in range(2):
        store.take_over(theirs, at=9.0)
    assert store.spent_by_issue() == {"shop#1": TotalSpend(1.0, 50, 3, 100.0)}
    assert store.find_run("shop#1") == theirs


@pytest.mark.parametrize(
    "sql", ["DELETE FROM money", "UPDATE money SET usd = 0", "DELETE FROM journal", "UPDATE journal SET text = ''"]
)
def test_spending_and_journal_rows_cannot_be_changed(store, tmp_path, sql):
    store.save(RUN, at=7.0, notes=["began"], spend=Spend(1, 100.0, 0.25, 10))
    other = open_database(tmp_path / "treehand.db", MIGRATIONS)
    with pytest.raises(sqlite3.IntegrityError, match="only added"):
        other.execute(sql)
    other.close()


def test_with_a_full_disk_run_spending_and_journal_are_saved_together_or_not_at_all(store):
    store.save(RUN, at=7.0, notes=["began"])
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Retryable, match="full"):
        store.save(
            replace(RUN, turns=replace(RUN.turns, number=1)), at=8.0, notes=["x" * 500_000], spend=Spend(1, 8.0, 1.0, 1)
        )
    assert store.find_run("shop#1") == RUN
    assert store.spent(since=0) == 0.0
    assert [entry.text for entry in store.journal(RUN)] == ["began"]


def test_two_processes_may_create_the_database_at_once(tmp_path):
    first, second = RunStore.open(tmp_path / "new.db"), RunStore.open(tmp_path / "new.db")
    first.save(RUN, at=7.0)
    assert second.active() == [RUN]
    first.close()
    second.close()


async def test_a_full_disk_stops_only_one_run_which_continues_once_there_is_space(bot, world, store):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    world.open_issue("shop#2", "ai", title="x" * 200_000)
    await bot.tick()
    assert store.find_run("shop#2") is None
    store._db.execute("PRAGMA max_page_count = 1000000")
    world.finish_turn("shop#1")
    await bot.tick(2)
    assert bot.run("shop#1").phase is Phase.REVIEW
    assert bot.run("shop#2").phase is Phase.WORKING


def test_turn_outcomes_reach_back_to_the_last_success_of_each_project(store):
    def end(number: int, at: float, failure: Failure = Failure.MODEL, project: str = "shop") -> TurnOutcome:
        one = TurnOutcome(project, f"{project}#{number}", 1, 1, at - 5, at, failure, "529")
        run = Run(one.key, project, turns=RunTurns(number=1))
        store.save(run, at=at, outcome=one)
        store.save(run, at=at + 1, outcome=replace(one, failure=Failure.DISK))
        return one

    end(1, 100.0)
    lately = [end(2, 7000.0), end(3, 9000.0, Failure.NONE), end(4, 9000.0, Failure.AGENT)]
    others = [end(1, 50.0, project="bar")]
    assert store.turn_outcomes() == [*lately, *others]


def test_reading_turn_outcomes_scans_no_table(store):
    said: list[str] = []
    store._db.set_trace_callback(said.append)
    store.turn_outcomes()
    store._db.set_trace_callback(None)
    plan = [row["detail"] for row in store._db.execute(f"EXPLAIN QUERY PLAN {said[-1]}")]
    assert [step for step in plan if "endings" in step or "good" in step], "there is a plan"
    assert [step for step in plan if step.startswith("SCAN") and step != "SCAN projects"] == []


def test_active_runs_are_cached_and_include_writes_of_other_processes(store):
    """The cache is used while nothing was written."""
    path = Path(store._db.execute("PRAGMA database_list").fetchone()["file"])
    store.save(RUN, at=1.0)
    assert store.active() == [RUN]
    store.save(replace(RUN, reason="ours"), at=2.0)
    assert [run.reason for run in store.active()] == ["ours"]
    other = RunStore.open(path)
    other.save(replace(RUN, reason="theirs"), at=3.0)
    other.close()
    assert [run.reason for run in store.active()] == ["theirs"]
    assert store.active()[0] is store.active()[0]


def test_the_requester_of_an_old_run_is_read_from_its_journal(tmp_path):
    db = open_database(tmp_path / "treehand.db", [one for one in MIGRATIONS if one.name < "0011"])
    for key in ("shop#1", "shop#2"):
        insert_old_run(db, key)
    journal = "INSERT INTO journal (key, ordinal, at, text) VALUES ('shop#1', 1, 5.0, ?)"
    db.execute(journal, ["Ana B. asked for it: bob asked for it: really"])
    db.execute(journal, ["queued → working"])
    db.commit()
    db.close()
    store = RunStore.open(tmp_path / "treehand.db")
    assert [run.person for run in store.active()] == ["Ana B.", ""]
    store.close()


def test_costs_are_added_up_by_requester(store):
    for number, (person, usd) in enumerate([("ana", 1.0), ("bob", 2.0), ("ana", 0.5), ("", 0.25)], start=1):
        run = replace(RUN, key=f"shop#{number}", person=person)
        store.save(run, at=7.0, spend=Spend(1, 7.0, usd, 10))
    assert store.cost_by("person") == [("ana", 1.5, 20), ("bob", 2.0, 10), ("somebody", 0.25, 10)]


def test_the_typical_duration_of_a_turn_is_the_median_of_successful_ones(store):
    assert store.typical_seconds() == 0.0
    for turn, (seconds, failure) in enumerate([(10, ""), (500, ""), (30, ""), (1, "model")], start=1):
        ending = TurnOutcome("shop", "shop#1", 1, turn, 100.0, 100.0 + seconds, Failure(failure), "")
        store.save(RUN, at=7.0, outcome=ending)
    assert store.typical_seconds() == 30.0
