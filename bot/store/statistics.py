"""Reads history and totals from the ledger, the runs and the journal. Read only."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.history import FinishedRun, FirstPullRequest, History, QueueWait, TurnBill
from bot.domain.run import MERGED, Phase
from bot.domain.spend import TotalSpend
from bot.store.runs import DAMAGED_ADVICE, MIGRATIONS
from bot.system.database import open_database, translate_errors

_INTO_REVIEW = "(text LIKE 'working → review%' OR text LIKE 'asking → review%')"
_INTO_QUEUE, _OUT_OF_QUEUE = "asking → queued%", "queued → %"
_SPENT_SINCE = """
SELECT project, sum(usd) FROM (
    SELECT project, usd FROM money WHERE at >= ?1
    UNION ALL
    SELECT project, usd FROM turns JOIN runs USING (key, ordinal) WHERE turns.at >= ?1 AND NOT EXISTS (
        SELECT 1 FROM money WHERE (money.key, money.ordinal, money.turn) = (turns.key, turns.ordinal, turns.turn)
    )
) GROUP BY 1
"""
_MOVED_SINCE = "(phase != 'done' OR changed_at >= :since)"


def history_since(path: Path, since: float) -> History:
    """Whatever happened from then on, and every wait that was not over by then."""
    db = open_database(path, MIGRATIONS, lost=DAMAGED_ADVICE)
    try:
        return History(_bills(db, since), _ends(db, since), _offers(db, since), list(_waits(db, since)))
    finally:
        db.close()


def _bills(db: sqlite3.Connection, since: float) -> Sequence[TurnBill]:
    rows = _read(db, "SELECT at, project, usd, tokens FROM money WHERE at >= :since ORDER BY at", since)
    return [TurnBill(**row) for row in rows]


def _ends(db: sqlite3.Connection, since: float) -> Sequence[FinishedRun]:
    """Counts a merged run as one with a pull request, even if the journal does not go back that far."""
    rows = _read(
        db,
        "SELECT changed_at AS at, project, reason = :merged AS merged, EXISTS (SELECT 1 FROM journal"
        f" WHERE journal.key = runs.key AND journal.ordinal = runs.ordinal AND {_INTO_REVIEW}) AS offered"
        " FROM runs WHERE phase = 'done' AND changed_at >= :since ORDER BY changed_at",
        since,
        merged=MERGED,
    )
    return [
        FinishedRun(row["at"], row["project"], bool(row["merged"]), bool(row["merged"] or row["offered"]))
        for row in rows
    ]


def _offers(db: sqlite3.Connection, since: float) -> Sequence[FirstPullRequest]:
    rows = _read(
        db,
        "SELECT project, begun_at, min(at) AS at FROM runs JOIN journal USING (key, ordinal)"
        f" WHERE {_MOVED_SINCE} AND {_INTO_REVIEW} GROUP BY key, ordinal HAVING min(at) >= :since",
        since,
    )
    return [FirstPullRequest(row["at"], row["project"], max(row["at"] - row["begun_at"], 0.0)) for row in rows]


def _waits(db: sqlite3.Connection, since: float) -> Iterator[QueueWait]:
    """One run may wait several times: at first, and after it was asked about."""
    rows = _read(
        db,
        "SELECT key, ordinal, project, begun_at, at, text LIKE :leaving AS leaves FROM runs"
        " JOIN journal USING (key, ordinal)"
        f" WHERE {_MOVED_SINCE} AND (text LIKE :leaving OR text LIKE :entering) ORDER BY journal.id",
        since,
        leaving=_OUT_OF_QUEUE,
        entering=_INTO_QUEUE,
    )
    waiting: dict[tuple[str, int], float] = {}
    for row in rows:
        name = (row["key"], row["ordinal"])
        if not row["leaves"]:
            waiting[name] = row["at"]
        elif (begun := waiting.pop(name, row["begun_at"])) and row["at"] > since:
            yield QueueWait(row["project"], begun, row["at"])
    for row in _read(db, "SELECT project, changed_at FROM runs WHERE phase = :queued", since, queued=Phase.QUEUED):
        yield QueueWait(row["project"], row["changed_at"])


def _read(db: sqlite3.Connection, sql: str, since: float, **values: str) -> Sequence[Mapping[str, Any]]:
    with translate_errors("The database of runs"):
        return [dict(row) for row in db.execute(sql, {"since": since, **values}).fetchall()]


@dataclass(frozen=True, slots=True)
class StatisticSums:
    """Totals for metrics. The ledgers are only added to, so totals only grow."""

    db: sqlite3.Connection

    def runs(self) -> Mapping[tuple[str, str], int]:
        """Returns counts by project and phase."""
        return {
            (row[0], row[1]): row[2] for row in self._rows("SELECT project, phase, count(*) FROM runs GROUP BY 1, 2")
        }

    def turns_started(self) -> Mapping[str, int]:
        return {row[0]: row[1] for row in self._rows("SELECT project, sum(turns_number) FROM runs GROUP BY 1")}

    def turns_ended(self) -> Mapping[tuple[str, str], int]:
        """Returns counts by project and failure; an empty failure is a success."""
        return {
            (row[0], row[1]): row[2]
            for row in self._rows("SELECT project, failure, count(*) FROM turn_outcomes GROUP BY 1, 2")
        }

    def spent(self) -> Mapping[str, TotalSpend]:
        """Returns totals by project, of all time."""
        rows = self._rows("SELECT project, sum(usd), sum(tokens), sum(turns), sum(seconds) FROM money GROUP BY 1")
        return {row[0]: TotalSpend(row[1], row[2], row[3], row[4]) for row in rows}

    def spent_since(self, since: float) -> Mapping[str, float]:
        """Returns dollars by project, with those of running turns."""
        return {row[0]: row[1] for row in self._rows(_SPENT_SINCE, since)}

    def _rows(self, sql: str, *values: float) -> list[sqlite3.Row]:
        with translate_errors("The database of runs"):
            return self.db.execute(sql, values).fetchall()
