"""Conditional-request cache: keeps GitHub's answers with their ETags, so that an unchanged page costs no quota."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.services.http.availability import execute

_HOUR, _DAY = 3600.0, 86400.0


@dataclass(frozen=True, slots=True)
class CachedPage:
    """An answer, and the ETag or date that makes the next request for it conditional."""

    etag: str
    modified: str
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)
    next: str = ""

    @property
    def conditions(self) -> Mapping[str, str]:
        return {"If-None-Match": self.etag} if self.etag else {"If-Modified-Since": self.modified}


class PageCache:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._pruned_at = 0.0

    def find(self, key: str, *, now: float) -> CachedPage | None:
        row = execute(self._db, "SELECT * FROM pages WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not 0 <= now - row["used_at"] < _HOUR:  # not at every use: each write waits for the disk
            execute(self._db, "UPDATE pages SET used_at = ? WHERE key = ?", (now, key))
        return CachedPage(row["etag"], row["modified"], row["body"], json.loads(row["headers"]), row["next"])

    def keep(self, key: str, page: CachedPage, *, now: float) -> None:
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
