"""What is known of one repository: GitHub's words, how far they were read, and what we said ourselves.

Rule: a cursor and what it covers are saved in one `changing()`, in which nobody waits. All of it may be lost.
"""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from bot.services.http.availability import execute
from bot.system.database import whole

Row: TypeAlias = Mapping[str, Any]


class Kind(StrEnum):
    """What a record is about."""

    ISSUE = "issue"
    COMMENT = "comment"
    REMARK = "remark"
    REVIEW = "review"
    PULL = "pull"
    GLANCE = "glance"
    CHECKS = "checks"
    CONSENT = "consent"


@dataclass(frozen=True, slots=True)
class Said:
    """One comment of ours."""

    number: int
    slug: str
    id: int
    inline: bool
    digest: str
    tried_at: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the author of a comment might do when we first saw it as it is."""

    trusted: bool
    may_push: bool


SHAPE = "1"
"""To be raised when the words of a record change: what was written in older ones is read anew from GitHub."""


class Notebook:
    def __init__(self, db: sqlite3.Connection, repository: str) -> None:
        self._db = db
        self._repository = repository.lower()
        if self.cursor("shape") != SHAPE:
            self._begin_anew()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """All of it or nothing."""
        with whole(self._db, self._execute):
            yield

    def _begin_anew(self) -> None:
        with self.changing():
            for table in ("records", "cursors"):
                self._execute(f"DELETE FROM {table} WHERE repository = ?", (self._repository,))  # noqa: S608
            self.advance("shape", SHAPE)

    # Records

    def find(self, kind: Kind, one: int) -> Row | None:
        row = self._execute(
            "SELECT data FROM records WHERE repository = ? AND kind = ? AND id = ?", (self._repository, kind, one)
        ).fetchone()
        return json.loads(row["data"]) if row else None

    def all(self, kind: Kind) -> list[Row]:
        return self._rows("SELECT data FROM records WHERE repository = ? AND kind = ? ORDER BY id", kind)

    def by_id(self, kind: Kind) -> dict[int, Row]:
        rows = self._execute("SELECT id, data FROM records WHERE repository = ? AND kind = ?", (self._repository, kind))
        return {row["id"]: json.loads(row["data"]) for row in rows}

    def under(self, kind: Kind, numbers: Collection[int]) -> list[Row]:
        """Those that belong to these issues or pull requests, oldest first."""
        return self._rows(
            "SELECT data FROM records WHERE repository = ? AND kind = ? "
            "AND number IN (SELECT value FROM json_each(?)) ORDER BY id",
            kind,
            json.dumps(list(numbers)),
        )

    def counts(self, kind: Kind) -> Mapping[int, int]:
        """How many belong to each issue or pull request."""
        sql = "SELECT number, count(*) AS count FROM records WHERE repository = ? AND kind = ? GROUP BY number"
        return {row["number"]: row["count"] for row in self._execute(sql, (self._repository, kind))}

    def keep(self, kind: Kind, row: Row, *, one: int, number: int, updated: str = "") -> None:
        """Unless what is known is newer. What is known already costs no writing."""
        known = self._execute(
            "SELECT updated, data FROM records WHERE repository = ? AND kind = ? AND id = ?",
            (self._repository, kind, one),
        ).fetchone()
        data = json.dumps(row)
        if known and (known["updated"] > updated or known["data"] == data):
            return
        self._execute(
            "INSERT OR REPLACE INTO records (repository, kind, id, number, updated, data) VALUES (?, ?, ?, ?, ?, ?)",
            (self._repository, kind, one, number, updated, data),
        )

    def forget(self, kind: Kind, one: int) -> None:
        self._execute("DELETE FROM records WHERE repository = ? AND kind = ? AND id = ?", (self._repository, kind, one))

    def forget_unfollowed(self, followed: Collection[int], *, before: str) -> None:
        """What belongs to none of these and has not changed since. Followed again, it is read again as a whole."""
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

    # What we said

    def find_said(self, number: int, slug: str) -> Said | None:
        row = self._execute(
            "SELECT * FROM said WHERE repository = ? AND number = ? AND slug = ?", (self._repository, number, slug)
        ).fetchone()
        return (
            Said(row["number"], row["slug"], row["id"], bool(row["inline"]), row["digest"], row["tried_at"])
            if row
            else None
        )

    def keep_said(self, said: Said) -> None:
        self._execute(
            "INSERT OR REPLACE INTO said (repository, number, slug, id, inline, digest, tried_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self._repository, said.number, said.slug, said.id, said.inline, said.digest, said.tried_at),
        )

    def forget_said(self, said: Said) -> None:
        self._execute(
            "DELETE FROM said WHERE repository = ? AND number = ? AND slug = ?",
            (self._repository, said.number, said.slug),
        )

    # How we reacted

    def reactions(self) -> Mapping[str, frozenset[str]]:
        """By comment."""
        found: dict[str, frozenset[str]] = {}
        for row in self._execute("SELECT comment, reaction FROM reactions WHERE repository = ?", (self._repository,)):
            found[row["comment"]] = found.get(row["comment"], frozenset()) | {row["reaction"]}
        return found

    def keep_reaction(self, comment: str, reaction: str) -> None:
        self._execute(
            "INSERT OR IGNORE INTO reactions (repository, comment, reaction) VALUES (?, ?, ?)",
            (self._repository, comment, reaction),
        )

    # Whom we trusted

    def find_verdict(self, comment: str, version: str) -> Verdict | None:
        """None: nobody judged it as it is."""
        row = self._execute(
            "SELECT trusted, may_push FROM verdicts"
            " WHERE repository = ? AND comment = ? AND version = ? AND may_push IS NOT NULL",
            (self._repository, comment, version),
        ).fetchone()
        return Verdict(bool(row["trusted"]), bool(row["may_push"])) if row else None

    def was_judged(self, comment: str) -> bool:
        """In any version."""
        sql = "SELECT 1 FROM verdicts WHERE repository = ? AND comment = ?"
        return self._execute(sql, (self._repository, comment)).fetchone() is not None

    def keep_verdict(self, comment: str, version: str, verdict: Verdict) -> None:
        self._execute(
            "INSERT OR REPLACE INTO verdicts (repository, comment, version, trusted, may_push) VALUES (?, ?, ?, ?, ?)",
            (self._repository, comment, version, verdict.trusted, verdict.may_push),
        )

    def _execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return execute(self._db, sql, values)

    def _rows(self, sql: str, *values: object) -> list[Row]:
        return [json.loads(row["data"]) for row in self._execute(sql, (self._repository, *values))]
