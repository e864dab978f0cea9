"""What the transport remembers of GitHub between two requests and two lives of the process.

All of it may be lost: it is found again, only less cheaply.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from bot.services.http.availability import Holds, execute
from bot.system.database import open_database, open_or_renew

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"))

_HOUR, _DAY = 3600.0, 86400.0
_LOST = "`treehand run` sets it aside and begins a new one; nothing in it is needed."


Memory: TypeAlias = sqlite3.Connection


def open_memory(path: Path) -> Memory:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)  # it holds what is said in private repositories
    return open_database(path, MIGRATIONS, lost=_LOST)


def own_memory(path: Path, *, at: float) -> Memory:
    """For the daemon, which may begin a new one in place of one that is damaged."""
    return open_or_renew(lambda: open_memory(path), at=at)


@dataclass(frozen=True, slots=True)
class Page:
    """An answer, and what to show the server so that it need not be given again."""

    etag: str
    modified: str
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
    next: str = ""

    @property
    def conditions(self) -> Mapping[str, str]:
        return {"If-None-Match": self.etag} if self.etag else {"If-Modified-Since": self.modified}


class Pages:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._pruned_at = 0.0

    def find(self, key: str, *, now: float) -> Page | None:
        row = execute(self._db, "SELECT * FROM pages WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not 0 <= now - row["used_at"] < _HOUR:  # not at every use: each write waits for the disk
            execute(self._db, "UPDATE pages SET used_at = ? WHERE key = ?", (now, key))
        return Page(row["etag"], row["modified"], row["body"], json.loads(row["headers"]), row["next"])

    def keep(self, key: str, page: Page, *, now: float) -> None:
        self._prune(now)
        execute(
            self._db,
            "INSERT OR REPLACE INTO pages (key, etag, modified, body, headers, next, used_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, page.etag, page.modified, page.body, json.dumps(dict(page.headers)), page.next, now),
        )

    def forget(self, key: str) -> None:
        execute(self._db, "DELETE FROM pages WHERE key = ?", (key,))

    def _prune(self, now: float) -> None:
        if 0 <= now - self._pruned_at < _HOUR:
            return
        execute(self._db, "DELETE FROM pages WHERE used_at NOT BETWEEN ? AND ?", (now - _DAY, now + _DAY))
        self._pruned_at = now


class Limits(Holds):
    """And when we wrote: several processes may share it.

    And about how much we read: of that each process keeps count, and the next one begins with what the file says.
    """

    def writes(self, *, now: float) -> Sequence[tuple[float, bool]]:
        """The last hour's, oldest first, and which made content. Times to come mean that the clock was moved."""
        sql = "SELECT at, creates FROM writes WHERE at BETWEEN ? AND ? ORDER BY at"
        return [(row["at"], bool(row["creates"])) for row in execute(self._db, sql, (now - _HOUR, now))]

    def wrote(self, at: float, *, creates: bool) -> None:
        """Before it is done: one that fails counts as well."""
        sql = "INSERT INTO writes (at, creates) VALUES (?, ?)"
        number = execute(self._db, sql, (at, creates)).lastrowid or 0
        if number % 100 == 0:  # each change waits for the disk
            execute(self._db, "DELETE FROM writes WHERE at NOT BETWEEN ? AND ?", (at - _HOUR, at))

    def reads(self, *, now: float, seconds: float) -> Sequence[tuple[float, int]]:
        """Oldest first."""
        sql = "SELECT at, points FROM reads WHERE at BETWEEN ? AND ? ORDER BY at"
        return [(row["at"], row["points"]) for row in execute(self._db, sql, (now - seconds, now))]

    def reading(self, at: float, points: int, *, seconds: float) -> None:
        """Before they are read. What is older than so many seconds, or to come, counts no more."""
        execute(self._db, "DELETE FROM reads WHERE at NOT BETWEEN ? AND ?", (at - seconds, at))
        execute(self._db, "INSERT INTO reads (at, points) VALUES (?, ?)", (at, points))
