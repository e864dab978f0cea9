"""Whether a service, and each part of it, is open to us, and when it may be asked again. In a file, for all processes.

Rule: these tables are a part of each service's own file, and of its migrations.
"""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from bot.system.database import using

_log = logging.getLogger(__name__)


class Holds:
    """When we may ask again. In the file and nowhere else."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def until(self, name: str) -> float:
        row = execute(self._db, "SELECT until FROM limits WHERE name = ?", (name,)).fetchone()
        return float(row["until"]) if row else 0.0

    def hold(self, name: str, until: float) -> None:
        execute(self._db, "INSERT OR REPLACE INTO limits (name, until) VALUES (?, ?)", (name, until))


class Standings:
    """Is the service, and is each part of it, open to us? Said once in the log, each way."""

    def __init__(self, db: sqlite3.Connection, service: str = "GitHub") -> None:
        self._db, self._service = db, service

    def bad(self, repository: str, detail: str, *, asked: str, now: float) -> None:
        """`asked` names the kind of request that was refused: only its like can show that it is over."""
        trouble = self._find_trouble(repository)
        if trouble == (asked, detail):
            return
        if trouble is None:
            _log.warning("%s: %s", repository or self._service, detail)
        self._save(repository, ok=False, detail=detail, asked=asked, now=now)

    def good(self, repository: str, *, asked: str, now: float) -> None:
        trouble = self._find_trouble(repository)
        if trouble is None or trouble[0] != asked:
            return
        self._save(repository, ok=True, detail="", asked=asked, now=now)
        _log.info("%s: open to us again", repository or self._service)

    def _find_trouble(self, repository: str) -> tuple[str, str] | None:
        """What must succeed, and why it did not. Asked of the file: another process may have met it."""
        sql = "SELECT asked, detail FROM standing WHERE repository = ? AND NOT ok"
        row = execute(self._db, sql, (repository,)).fetchone()
        return (row["asked"], row["detail"]) if row else None

    def _save(self, repository: str, *, ok: bool, detail: str, asked: str, now: float) -> None:
        execute(
            self._db,
            "INSERT OR REPLACE INTO standing (repository, ok, detail, asked, at) VALUES (?, ?, ?, ?, ?)",
            (repository, ok, detail, asked, now),
        )


def standings(db: sqlite3.Connection) -> Mapping[str, tuple[bool, str]]:
    """For whoever looks from outside: repository ('' is all of it) -> (ok, detail)."""
    rows = execute(db, "SELECT repository, ok, detail FROM standing")
    return {row["repository"]: (bool(row["ok"]), row["detail"]) for row in rows}


def holds(db: sqlite3.Connection, *, now: float) -> Mapping[str, float]:
    """For whoever looks from outside: what we are to keep away from -> until when."""
    rows = execute(db, "SELECT name, until FROM limits WHERE until > ?", (now,))
    return {row["name"]: float(row["until"]) for row in rows}


def execute(db: sqlite3.Connection, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
    """A full disk or a busy file passes, and the next tick tries again."""
    with using("What is remembered of a service"):
        return db.execute(sql, values)
