"""Cache of one repository: issues, comments, pull requests, how far lists were read, and our own comments.

Rule: a cursor and the records it covers are saved in one `changing()`, without an await in it. All of it may be lost.
"""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from bot.services.http.availability import execute
from bot.services.http.cache_file import open_cache_file, open_or_replace_cache_file
from bot.services.http.comment_outbox import OwnComment
from bot.system.database import transaction

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"))

Row: TypeAlias = Mapping[str, Any]


def open_cache(path: Path) -> sqlite3.Connection:
    return open_cache_file(path, MIGRATIONS)


def open_or_replace_cache(path: Path, *, at: float) -> sqlite3.Connection:
    return open_or_replace_cache_file(path, MIGRATIONS, at=at)


class RecordKind(StrEnum):
    ISSUE = "issue"
    COMMENT = "comment"
    REMARK = "remark"
    REVIEW = "review"
    PULL = "pull"
    DETAILS = "glance"
    """Details of a pull request: mergeable, head, state of the checks, count of reviews."""
    CHECKS = "checks"
    AUTHORIZATION = "consent"
    """Requester of an issue, and the title and body that may be used."""


@dataclass(frozen=True, slots=True)
class AuthorPermission:
    """Permissions of a comment's author when this version of the comment was first read."""

    trusted: bool
    may_push: bool
    edited_by: str = ""
    """Login of its last editor if they have no permission, or `somebody`."""


SHAPE = "2"
"""Raise it when the keys of a record change: records in an older shape are read from GitHub again."""


class Cache:
    def __init__(self, db: sqlite3.Connection, repository: str) -> None:
        self._db = db
        self.move_to(repository)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One transaction."""
        with transaction(self._db, self._execute):
            yield

    def move_to(self, repository: str) -> None:
        """The repository's records are under this name."""
        self._repository = repository.lower()
        if self.cursor("shape") != SHAPE:
            self._clear()

    def _clear(self) -> None:
        with self.changing():
            for table in ("records", "cursors"):
                self._execute(f"DELETE FROM {table} WHERE repository = ?", (self._repository,))  # noqa: S608
            self.advance("shape", SHAPE)

    # Records

    def find(self, kind: RecordKind, record: int) -> Row | None:
        row = self._execute(
            "SELECT data FROM records WHERE repository = ? AND kind = ? AND id = ?", (self._repository, kind, record)
        ).fetchone()
        return json.loads(row["data"]) if row else None

    def all(self, kind: RecordKind) -> list[Row]:
        return self._rows("SELECT data FROM records WHERE repository = ? AND kind = ? ORDER BY id", kind)

    def by_id(self, kind: RecordKind) -> dict[int, Row]:
        rows = self._execute("SELECT id, data FROM records WHERE repository = ? AND kind = ?", (self._repository, kind))
        return {row["id"]: json.loads(row["data"]) for row in rows}

    def under(self, kind: RecordKind, numbers: Collection[int]) -> list[Row]:
        """Records that belong to these issues or pull requests, oldest first."""
        return self._rows(
            "SELECT data FROM records WHERE repository = ? AND kind = ? "
            "AND number IN (SELECT value FROM json_each(?)) ORDER BY id",
            kind,
            json.dumps(list(numbers)),
        )

    def counts(self, kind: RecordKind) -> Mapping[int, int]:
        """Number of records by issue or pull request."""
        sql = "SELECT number, count(*) AS count FROM records WHERE repository = ? AND kind = ? GROUP BY number"
        return {row["number"]: row["count"] for row in self._execute(sql, (self._repository, kind))}

    def keep(self, kind: RecordKind, row: Row, *, record: int, number: int, updated: str = "") -> None:
        """Saves a record unless the cache holds a newer one. An unchanged record costs no write."""
        known = self._execute(
            "SELECT updated, data FROM records WHERE repository = ? AND kind = ? AND id = ?",
            (self._repository, kind, record),
        ).fetchone()
        data = json.dumps(row)
        if known and (known["updated"] > updated or known["data"] == data):
            return
        self._execute(
            "INSERT OR REPLACE INTO records (repository, kind, id, number, updated, data) VALUES (?, ?, ?, ?, ?, ?)",
            (self._repository, kind, record, number, updated, data),
        )

    def forget(self, kind: RecordKind, record: int) -> None:
        self._execute(
            "DELETE FROM records WHERE repository = ? AND kind = ? AND id = ?", (self._repository, kind, record)
        )

    def forget_unfollowed(self, followed: Collection[int], *, before: str) -> None:
        """Removes records of other issues that have not changed since. Followed again, an issue is read in full."""
        which = (self._repository, json.dumps(list(followed)))
        with self.changing():
            self._execute(
                "DELETE FROM records WHERE repository = ? AND number NOT IN (SELECT value FROM json_each(?))"
                " AND updated < ?",
                (*which, before),
            )
            self._execute(
                "DELETE FROM cursors WHERE repository = ? AND name GLOB '*/[0-9]*'"
                " AND CAST(substr(name, instr(name, '/') + 1) AS INTEGER) NOT IN (SELECT value FROM json_each(?))",
                which,
            )
            self._execute(
                "DELETE FROM reactions WHERE repository = ?1"
                " AND CAST(substr(comment, instr(comment, '-') + 1) AS INTEGER) NOT IN"
                " (SELECT id FROM records WHERE repository = ?1)",
                (self._repository,),
            )

    # Cursors

    def cursor(self, name: str) -> str:
        """Empty: nothing was read yet."""
        row = self._execute(
            "SELECT value FROM cursors WHERE repository = ? AND name = ?", (self._repository, name)
        ).fetchone()
        return str(row["value"]) if row else ""

    def advance(self, name: str, value: str) -> None:
        if self.cursor(name) != value:
            self._execute(
                "INSERT OR REPLACE INTO cursors (repository, name, value) VALUES (?, ?, ?)",
                (self._repository, name, value),
            )

    # Our comments

    def find_own_comment(self, issue: str, slug: str) -> OwnComment | None:
        row = self._execute(
            "SELECT * FROM said WHERE repository = ? AND number = ? AND slug = ?", (self._repository, int(issue), slug)
        ).fetchone()
        if row is None:
            return None
        comment = str(row["id"] or "")
        return OwnComment(issue, slug, comment, row["digest"], row["tried_at"], bool(row["inline"]))

    def keep_own_comment(self, comment: OwnComment) -> None:
        values = (comment.slug, int(comment.id or 0), comment.inline, comment.digest, comment.tried_at)
        self._execute(
            "INSERT OR REPLACE INTO said (repository, number, slug, id, inline, digest, tried_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self._repository, int(comment.issue), *values),
        )

    def forget_own_comment(self, comment: OwnComment) -> None:
        self._execute(
            "DELETE FROM said WHERE repository = ? AND number = ? AND slug = ?",
            (self._repository, int(comment.issue), comment.slug),
        )

    # Our reactions

    def reactions(self) -> Mapping[str, frozenset[str]]:
        """Keyed by comment."""
        found: dict[str, frozenset[str]] = {}
        for row in self._execute("SELECT comment, reaction FROM reactions WHERE repository = ?", (self._repository,)):
            found[row["comment"]] = found.get(row["comment"], frozenset()) | {row["reaction"]}
        return found

    def keep_reaction(self, comment: str, reaction: str) -> None:
        self._execute(
            "INSERT OR IGNORE INTO reactions (repository, comment, reaction) VALUES (?, ?, ?)",
            (self._repository, comment, reaction),
        )

    # Permissions of authors

    def find_author_permission(self, comment: str, version: str) -> AuthorPermission | None:
        """Returns None if this version of the comment has not been judged."""
        row = self._execute(
            "SELECT trusted, may_push, edited_by FROM verdicts"
            " WHERE repository = ? AND comment = ? AND version = ? AND may_push IS NOT NULL",
            (self._repository, comment, version),
        ).fetchone()
        return AuthorPermission(bool(row["trusted"]), bool(row["may_push"]), row["edited_by"]) if row else None

    def was_judged(self, comment: str) -> bool:
        """True for any version of the comment."""
        sql = "SELECT 1 FROM verdicts WHERE repository = ? AND comment = ?"
        return self._execute(sql, (self._repository, comment)).fetchone() is not None

    def keep_author_permission(self, comment: str, version: str, permission: AuthorPermission) -> None:
        self._execute(
            "INSERT OR REPLACE INTO verdicts (repository, comment, version, trusted, may_push, edited_by)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (self._repository, comment, version, permission.trusted, permission.may_push, permission.edited_by),
        )

    def _execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return execute(self._db, sql, values)

    def _rows(self, sql: str, *values: object) -> list[Row]:
        return [json.loads(row["data"]) for row in self._execute(sql, (self._repository, *values))]
