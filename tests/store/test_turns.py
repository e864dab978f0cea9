"""Turn reports survive their process with every field. Real SQLite."""

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.change import Change, FileChange, Objection
from bot.domain.run import Phase, Run, RunSpend, RunTurns
from bot.domain.serialize import as_record
from bot.domain.spend import Spend, TotalSpend
from bot.domain.turn import Progress, Todo, TurnAnswer, TurnReport, TurnState
from bot.store.runs import RunStore

REPORT = TurnReport(TurnState.SUCCEEDED, summary="Done.", session_cost_usd=0.5)
TEXT = st.text(st.characters(categories=["L", "Cs", "Cc"]), max_size=20)  # names that are no UTF-8 have surrogates
FILES = st.lists(st.builds(FileChange, path=TEXT), max_size=2).map(tuple)


def test_the_last_report_of_a_turn_is_kept_until_it_is_forgotten(store):
    store.keep_report("shop#1/1/turn-1", replace(REPORT, state=TurnState.RUNNING), at=1.0)
    store.keep_report("shop#1/1/turn-1", REPORT, at=2.0)
    store.keep_report("shop#2/1/turn-1", REPORT, at=2.0)
    assert store.kept_reports() == {"shop#1/1/turn-1": REPORT, "shop#2/1/turn-1": REPORT}
    store.forget_report("shop#1/1/turn-1")
    assert list(store.kept_reports()) == ["shop#2/1/turn-1"]


def test_what_a_running_turn_costs_is_spent_until_the_ledger_has_it(store):
    running = TurnReport(TurnState.RUNNING, usd=0.25, tokens=90)
    run = Run("shop#1", "shop", phase=Phase.WORKING, turns=RunTurns(number=1))
    store.save(run, at=1.0)
    store.keep_report("shop#1/1/turn-1", running, at=100.0)
    assert store.unrecorded() == {"shop#1/1/turn-1": TotalSpend(0.25, 90)}
    assert (store.spent(since=50.0), store.spent(since=101.0)) == (0.25, 0.0)
    assert store.statistic_sums().spent_since(50.0) == {"shop": 0.25}
    assert store.find_with_cost("shop#1").spend == RunSpend(0.25, 90)
    assert store.find_run("shop#1").spend == RunSpend()

    store.save(run, at=101.0, spend=Spend(1, 101.0, 0.3, 100))
    assert store.unrecorded() == {}
    assert store.spent(since=50.0) == 0.3
    assert store.statistic_sums().spent_since(50.0) == {"shop": 0.3}


def test_a_report_survives_its_process(store, tmp_path):
    store.keep_report("shop#1/1/turn-1", REPORT, at=1.0)
    other = RunStore.open(tmp_path / "treehand.db")
    assert other.kept_reports() == {"shop#1/1/turn-1": REPORT}
    other.close()


def test_reports_older_than_a_month_are_removed(store):
    store.keep_report("old", REPORT, at=1.0)
    store.keep_report("new", REPORT, at=31 * 86400.0)
    assert list(store.kept_reports()) == ["new"]


def test_unknown_fields_of_a_newer_version_are_ignored(store):
    store._db.execute(
        """INSERT INTO turns (turn_id, at, report) VALUES ('t', 1.0, '{"state": "lost", "later": [1], "tokens": 5}')"""
    )
    assert store.kept_reports() == {"t": TurnReport(TurnState.LOST, tokens=5)}


def any_of(kind: type, **told) -> st.SearchStrategy:
    numbers = {one.name: st.floats(0, 1e9) for one in fields(kind) if one.type is float}
    return st.builds(kind, **numbers, **told)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Iterator[RunStore]:
    book = RunStore.open(tmp_path_factory.mktemp("book") / "treehand.db")
    yield book
    book.close()


@given(
    report=any_of(
        TurnReport,
        progress=any_of(Progress, action=TEXT, todos=st.tuples(st.from_type(Todo))),
        change=st.none() | st.builds(Change, objections=st.tuples(st.from_type(Objection)), files=FILES),
        answers=st.tuples(st.from_type(TurnAnswer)),
        delivered=st.frozensets(TEXT),
    )
)
@settings(max_examples=50, deadline=None)
def test_every_kind_of_report_is_read_back_unchanged(report, book):
    book.keep_report("t", report, at=1.0)
    assert book.kept_reports() == {"t": report}


def test_only_fields_without_their_default_are_written():
    assert set(as_record(REPORT)) == {"state", "summary", "session_cost_usd"}
    assert {one.name for one in fields(TurnReport)} >= set(as_record(REPORT))
