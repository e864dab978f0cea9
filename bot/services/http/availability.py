"""Records for all processes whether a service, and each repository or team of it, answers us, and until when to wait.

Rule: the tables `standing` and `limits` belong to each service's own file, and to its migrations.
"""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from bot.system.database import translate_errors

_log = logging.getLogger(__name__)


class RetryTimes:
    """Times until which a service imposed a wait. Read from the file each time: another process may have written it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def until(self, name: str) -> float:
        row = execute(self._db, "SELECT until FROM limits WHERE name = ?", (name,)).fetchone()
        return float(row["until"]) if row else 0.0

    def hold(self, name: str, until: float) -> None:
        execute(self._db, "INSERT OR REPLACE INTO limits (name, until) VALUES (?, ?)", (name, until))


class Availability:
    """Trouble of a service and of each part of it; logged once when it begins and once when it ends."""

    def __init__(self, db: sqlite3.Connection, service: str = "GitHub") -> None:
        self._db, self._service = db, service

    def record_trouble(self, part: str, detail: str, *, cleared_by: str, now: float) -> None:
        """`cleared_by` names the kind of request that was refused: only a success of the same kind ends the trouble."""
        trouble = self._find_trouble(part)
        if trouble == (cleared_by, detail):
            return
        if trouble is None:
            _log.warning("service refuses part=%s: %s", part or self._service, detail)
        self._save(part, ok=False, detail=detail, cleared_by=cleared_by, now=now)

    def record_success(self, part: str, *, cleared: str, now: float) -> None:
        trouble = self._find_trouble(part)
        if trouble is None or trouble[0] != cleared:
            return
        self._save(part, ok=True, detail="", cleared_by=cleared, now=now)
        _log.info("service answers again part=%s", part or self._service)

    def _find_trouble(self, part: str) -> tuple[str, str] | None:
        """Kind of request that must succeed, and the reason. Read from the file: another process may have met it."""
        sql = "SELECT asked, detail FROM standing WHERE repository = ? AND NOT ok"
        row = execute(self._db, sql, (part,)).fetchone()
        return (row["asked"], row["detail"]) if row else None

    def _save(self, part: str, *, ok: bool, detail: str, cleared_by: str, now: float) -> None:
        execute(
            self._db,
            "INSERT OR REPLACE INTO standing (repository, ok, detail, asked, at) VALUES (?, ?, ?, ?, ?)",
            (part, ok, detail, cleared_by, now),
        )


def read_availability(db: sqlite3.Connection) -> Mapping[str, tuple[bool, str]]:
    """Keyed by repository or team (`""` is the service itself): true if it answers us, and the reason if not."""
    rows = execute(db, "SELECT repository, ok, detail FROM standing")
    return {row["repository"]: (bool(row["ok"]), row["detail"]) for row in rows}


def problems_of(db: sqlite3.Connection, service: str) -> Mapping[str, tuple[bool, str]]:
    """Health findings: each repository or team that does not answer; that the service answers, if all do."""
    wrong = {
        f"{service} {name}".strip(): (ok, detail) for name, (ok, detail) in read_availability(db).items() if not ok
    }
    return wrong or {service: (True, "answers")}


def read_holds(db: sqlite3.Connection, *, now: float) -> Mapping[str, float]:
    """Imposed waits that are not over, and their ends."""
    rows = execute(db, "SELECT name, until FROM limits WHERE until > ?", (now,))
    return {row["name"]: float(row["until"]) for row in rows}


def execute(db: sqlite3.Connection, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
    """Raises Retryable on a full disk or a busy file."""
    with translate_errors("The cache of a service"):
        return db.execute(sql, values)
