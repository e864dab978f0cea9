"""What happened, out of the ledger, the runs and the journal: what figures are made of. Only reads."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.domain.history import Bill, End, Offer, Past, Wait
from bot.domain.run import MERGED, Phase
from bot.store.runs import LOST, MIGRATIONS
from bot.system.database import open_database, using

_INTO_REVIEW = "(text LIKE 'working → review%' OR text LIKE 'asking → review%')"
_INTO_QUEUE, _OUT_OF_QUEUE = "asking → queued%", "queued → %"
_MOVED_SINCE = "(phase != 'done' OR changed_at >= :since)"


def past_since(path: Path, since: float) -> Past:
    """Whatever happened from then on, and every wait that was not over by then."""
    db = open_database(path, MIGRATIONS, lost=LOST)
    try:
        return Past(_bills(db, since), _ends(db, since), _offers(db, since), list(_waits(db, since)))
    finally:
        db.close()


def _bills(db: sqlite3.Connection, since: float) -> Sequence[Bill]:
    rows = _read(db, "SELECT at, project, usd, tokens FROM money WHERE at >= :since ORDER BY at", since)
    return [Bill(**row) for row in rows]


def _ends(db: sqlite3.Connection, since: float) -> Sequence[End]:
    """What was merged had a pull request, also where the journal does not go back as far."""
    rows = _read(
        db,
        "SELECT changed_at AS at, project, reason = :merged AS merged, EXISTS (SELECT 1 FROM journal"
        f" WHERE journal.key = runs.key AND journal.ordinal = runs.ordinal AND {_INTO_REVIEW}) AS offered"
        " FROM runs WHERE phase = 'done' AND changed_at >= :since ORDER BY changed_at",
        since,
        merged=MERGED,
    )
    return [End(row["at"], row["project"], bool(row["merged"]), bool(row["merged"] or row["offered"])) for row in rows]


def _offers(db: sqlite3.Connection, since: float) -> Sequence[Offer]:
    rows = _read(
        db,
        "SELECT project, begun_at, min(at) AS at FROM runs JOIN journal USING (key, ordinal)"
        f" WHERE {_MOVED_SINCE} AND {_INTO_REVIEW} GROUP BY key, ordinal HAVING min(at) >= :since",
        since,
    )
    return [Offer(row["at"], row["project"], max(row["at"] - row["begun_at"], 0.0)) for row in rows]


def _waits(db: sqlite3.Connection, since: float) -> Iterator[Wait]:
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
            yield Wait(row["project"], begun, row["at"])
    for row in _read(db, "SELECT project, changed_at FROM runs WHERE phase = :queued", since, queued=Phase.QUEUED):
        yield Wait(row["project"], row["changed_at"])


def _read(db: sqlite3.Connection, sql: str, since: float, **values: str) -> Sequence[Mapping[str, Any]]:
    with using("The database of runs"):
        return [dict(row) for row in db.execute(sql, {"since": since, **values}).fetchall()]
