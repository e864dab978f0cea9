"""What is remembered, and what a full disk or a second process does to it. Real SQLite."""

import sqlite3
from dataclasses import replace

import pytest

from bot.database import open_database
from bot.domain.comment import Heard, Outcome, Place
from bot.domain.run import Cause, Overruled, Phase, Run
from bot.domain.spend import Spend, Spent
from bot.domain.turn import Objection
from bot.errors import CannotStart, Retryable
from bot.store.runs import MIGRATIONS, RunStore

RUN = Run("shop#1", "shop", begun_at=5.0, changed_at=6.0)


def test_a_run_comes_back_as_it_was_saved(store):
    rows = (Heard("c1", Place.ISSUE, 1, Outcome.APPLIED, "abc"), Heard("c2", Place.PULL_REQUEST, 2, Outcome.HANDED))
    run = replace(
        RUN,
        phase=Phase.ASKING,
        cause=Cause.QUESTION,
        reason="why?",
        turn=2,
        ended=2,
        session="s1",
        spent_usd=0.5,
        heard=rows,
        held=(Objection("link", "a\\x1bb", "leads out", "120000 1"),),
        allowed=(Overruled(Objection("size", "", "30 MB"), "ana"),),
        words="Done.",
        refusals=("reach example.com:443 (3 times)",),
        budget_tokens=5,
        strangers=("eve",),
    )
    store.save(run, at=7.0)
    assert store.active() == [run]
    assert store.find_run("shop#1") == run


def test_a_run_of_a_database_from_before_anything_could_be_held_goes_on(tmp_path):
    db = open_database(tmp_path / "treehand.db", MIGRATIONS[:4])
    columns = [row["name"] for row in db.execute("PRAGMA table_info(runs)")]
    values = {name: getattr(RUN, name) for name in columns}
    db.execute(f"INSERT INTO runs ({', '.join(columns)}) VALUES ({', '.join(f':{name}' for name in columns)})", values)
    db.commit()
    db.close()
    store = RunStore.open(tmp_path / "treehand.db")
    assert store.find_run("shop#1") == RUN
    store.close()


def test_what_is_over_is_not_active_but_is_the_newest_run_and_counted(store):
    store.save(replace(RUN, phase=Phase.DONE), at=7.0)
    assert store.active() == []
    assert store.last_ordinal("shop#1") == 1
    assert [run.key for run in store.latest(ended_since=6.0)] == ["shop#1"]
    assert store.latest(ended_since=6.5) == []


def test_an_issue_cannot_have_two_runs_at_once(store):
    store.save(RUN, at=7.0)
    with pytest.raises(sqlite3.IntegrityError):
        store.save(replace(RUN, ordinal=2), at=7.0)


def test_money_is_counted_once_per_turn_and_never_reset(store):
    for _ in range(2):
        store.save(RUN, at=7.0, spend=Spend(1, 100.0, 0.25, 10))
    store.save(replace(RUN, turn=0, spent_usd=0.0), at=8.0, spend=Spend(2, 90_000.0, 0.5, 20))
    assert store.spent(since=0) == 0.75
    assert store.spent(since=200) == 0.5
    assert store.spent_by_issue() == {"shop#1": Spent(0.75, 30)}
    assert store.cost_by("day") == [("1970-01-01", 0.25, 10), ("1970-01-02", 0.5, 20)]
    assert store.cost_by("project") == [("shop", 0.75, 30)]


@pytest.mark.parametrize(
    "sql", ["DELETE FROM money", "UPDATE money SET usd = 0", "DELETE FROM journal", "UPDATE journal SET text = ''"]
)
def test_the_ledgers_are_only_added_to(store, tmp_path, sql):
    store.save(RUN, at=7.0, notes=["began"], spend=Spend(1, 100.0, 0.25, 10))
    other = open_database(tmp_path / "treehand.db", MIGRATIONS)
    with pytest.raises(sqlite3.IntegrityError, match="only added"):
        other.execute(sql)
    other.close()


def test_run_money_and_journal_are_saved_together_or_not_at_all_when_the_disk_is_full(store):
    store.save(RUN, at=7.0, notes=["began"])
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Retryable, match="full"):
        store.save(replace(RUN, turn=1), at=8.0, notes=["x" * 500_000], spend=Spend(1, 8.0, 1.0, 1))
    assert store.find_run("shop#1") == RUN
    assert store.spent(since=0) == 0.0
    assert [entry.text for entry in store.journal(RUN)] == ["began"]


def test_two_processes_may_be_the_first_ever(tmp_path):
    first, second = RunStore.open(tmp_path / "new.db"), RunStore.open(tmp_path / "new.db")
    first.save(RUN, at=7.0)
    assert second.active() == [RUN]
    first.close()
    second.close()


def test_a_database_that_lost_pages_is_refused(tmp_path):
    store = RunStore.open(tmp_path / "treehand.db")
    for number in range(200):
        store.save(replace(RUN, key=f"shop#{number}"), at=7.0, notes=["x" * 1000])
    store.close()
    whole = (tmp_path / "treehand.db").read_bytes()
    (tmp_path / "treehand.db").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CannotStart, match="Move it aside"):
        RunStore.open(tmp_path / "treehand.db")


async def test_a_full_disk_stops_nobody_and_the_run_goes_on_when_there_is_room(bot, world, store):
    world.open_issue("shop#1", "ai")
    await bot.tick()
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    world.open_issue("shop#2", "ai", title="x" * 200_000)
    with pytest.raises(Retryable):
        await bot.tick()
    store._db.execute("PRAGMA max_page_count = 1000000")
    world.finish_turn("shop#1")
    await bot.tick(2)
    assert bot.run("shop#1").phase is Phase.REVIEW
    assert bot.run("shop#2").phase is Phase.WORKING
