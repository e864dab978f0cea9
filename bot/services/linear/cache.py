"""What is known of a workspace: Linear's words, how far they were read, and what we said and did ourselves.

Rule: a cursor and what it covers are saved in one `changing()`, in which nobody waits.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.services.http.availability import execute
from bot.system.database import whole

Row: TypeAlias = Mapping[str, Any]

SHAPE = "2"
"""To be raised when the words of a record change: what was written in older ones is read anew."""


@dataclass(frozen=True, slots=True)
class Said:
    """One comment, or one attachment, of ours."""

    issue: str
    slug: str
    id: str = ""
    digest: str = ""
    tried_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the author of a comment might do when we first saw it as it is."""

    trusted: bool
    may_push: bool


@dataclass(frozen=True, slots=True)
class Move:
    """Where we moved an issue for one request, and where it was before."""

    request: str
    came_from: str
    """Before we moved it for the first time."""
    prior: str
    """... for the last time."""
    went_to: str
    after: str = ""
    """When anybody had moved it before that."""


class Notebook:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        if self.cursor("", "shape") != SHAPE:
            with self.changing():
                for table in ("issues", "comments", "cursors", "consents"):
                    self._execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
                self.advance("", "shape", SHAPE)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """All of it or nothing."""
        with whole(self._db, self._execute):
            yield

    # Issues

    def find_issue(self, one: str) -> Row | None:
        return next(iter(self._issues("id = ?", one)), None)

    def find_by_key(self, key: str) -> Row | None:
        return next(iter(self._issues("key = ?", key)), None)

    def issues_of(self, team: str) -> list[Row]:
        return self._issues("team = ?", team)

    def titles(self) -> Mapping[str, str]:
        """By key, whichever team."""
        return {row["key"]: row["title"] for row in self._issues("1 = ?", 1)}

    def addresses(self) -> Mapping[str, str]:
        return {row["key"]: row["url"] for row in self._issues("1 = ?", 1)}

    def keep_issue(self, row: Row, *, team: str, key: str, project: str) -> None:
        self._execute(
            "INSERT OR REPLACE INTO issues (id, team, key, project, data) VALUES (?, ?, ?, ?, ?)",
            (row["id"], team, key, project, json.dumps(row)),
        )

    def alter_issue(self, one: str, **words: object) -> None:
        """What we have just changed there, before Linear tells of it."""
        if row := self.find_issue(one):
            self._execute("UPDATE issues SET data = ? WHERE id = ?", (json.dumps({**row, **words}), one))

    def follow(self, one: str, project: str) -> None:
        self._execute("UPDATE issues SET project = ? WHERE id = ? AND project <> ?", (project, one, project))

    def rename(self, one: str, key: str) -> None:
        self._execute("UPDATE issues SET key = ? WHERE id = ?", (key, one))

    def forget_issue(self, one: str) -> None:
        for table, column in (("issues", "id"), ("comments", "issue"), ("consents", "issue")):
            self._execute(f"DELETE FROM {table} WHERE {column} = ?", (one,))  # noqa: S608 - names of our own

    def find_consent(self, issue: str) -> Row | None:
        row = self._execute("SELECT data FROM consents WHERE issue = ?", (issue,)).fetchone()
        return json.loads(row["data"]) if row else None

    def keep_consent(self, issue: str, row: Row) -> None:
        self._execute("INSERT OR REPLACE INTO consents (issue, data) VALUES (?, ?)", (issue, json.dumps(row)))

    # Comments

    def comments_on(self, issue: str) -> list[Row]:
        """Oldest first."""
        rows = self._execute("SELECT data FROM comments WHERE issue = ?", (issue,))
        return sorted((json.loads(row["data"]) for row in rows), key=lambda row: (row["created"], row["id"]))

    def keep_comment(self, row: Row) -> None:
        """Unless what is known is newer."""
        sql = "SELECT updated FROM comments WHERE id = ?"
        known = self._execute(sql, (row["id"],)).fetchone()
        if known is None or known["updated"] <= row["updated"]:
            self._execute(
                "INSERT OR REPLACE INTO comments (id, issue, updated, data) VALUES (?, ?, ?, ?)",
                (row["id"], row["issue"], row["updated"], json.dumps(row)),
            )

    def forget_comment(self, one: str) -> None:
        self._execute("DELETE FROM comments WHERE id = ?", (one,))

    # Cursors

    def cursor(self, team: str, name: str) -> str:
        """Empty: nothing was read yet."""
        sql = "SELECT value FROM cursors WHERE team = ? AND name = ?"
        row = self._execute(sql, (team, name)).fetchone()
        return str(row["value"]) if row else ""

    def advance(self, team: str, name: str, value: str) -> None:
        if self.cursor(team, name) != value:
            sql = "INSERT OR REPLACE INTO cursors (team, name, value) VALUES (?, ?, ?)"
            self._execute(sql, (team, name, value))

    # What we said and did

    def find_said(self, issue: str, slug: str) -> Said | None:
        sql = "SELECT * FROM said WHERE issue = ? AND slug = ?"
        row = self._execute(sql, (issue, slug)).fetchone()
        return Said(**{name: row[name] for name in row.keys()}) if row else None  # noqa: SIM118 - it is no mapping

    def keep_said(self, said: Said) -> None:
        self._execute(
            "INSERT OR REPLACE INTO said (issue, slug, id, digest, tried_at) VALUES (?, ?, ?, ?, ?)",
            (said.issue, said.slug, said.id, said.digest, said.tried_at),
        )

    def forget_said(self, said: Said) -> None:
        self._execute("DELETE FROM said WHERE issue = ? AND slug = ?", (said.issue, said.slug))

    def reactions(self) -> Mapping[str, frozenset[str]]:
        """By comment."""
        found: dict[str, frozenset[str]] = {}
        for row in self._execute("SELECT comment, reaction FROM reactions"):
            found[row["comment"]] = found.get(row["comment"], frozenset()) | {row["reaction"]}
        return found

    def keep_reaction(self, comment: str, reaction: str) -> None:
        self._execute("INSERT OR IGNORE INTO reactions (comment, reaction) VALUES (?, ?)", (comment, reaction))

    def find_move(self, issue: str) -> Move | None:
        row = self._execute("SELECT * FROM moves WHERE issue = ?", (issue,)).fetchone()
        names = ("request", "came_from", "prior", "went_to", "after")
        return Move(*(str(row[name]) for name in names)) if row else None

    def keep_move(self, issue: str, move: Move) -> None:
        self._execute(
            "INSERT OR REPLACE INTO moves (issue, request, came_from, prior, went_to, after) VALUES (?, ?, ?, ?, ?, ?)",
            (issue, move.request, move.came_from, move.prior, move.went_to, move.after),
        )

    # Whom we trusted

    def find_verdict(self, comment: str, version: str) -> Verdict | None:
        """None: nobody judged it as it is."""
        sql = "SELECT trusted, may_push FROM verdicts WHERE comment = ? AND version = ?"
        row = self._execute(sql, (comment, version)).fetchone()
        return Verdict(bool(row["trusted"]), bool(row["may_push"])) if row else None

    def keep_verdict(self, comment: str, version: str, verdict: Verdict) -> None:
        self._execute(
            "INSERT OR REPLACE INTO verdicts (comment, version, trusted, may_push) VALUES (?, ?, ?, ?)",
            (comment, version, verdict.trusted, verdict.may_push),
        )

    def tidy(self) -> None:
        """Of what is over nothing is needed any more."""
        with self.changing():
            for table, column, kept in (
                ("comments", "issue", "issues"), ("said", "issue", "issues"), ("moves", "issue", "issues"),
                ("reactions", "comment", "comments"), ("verdicts", "comment", "comments"),
            ):  # fmt: skip
                sql = f"DELETE FROM {table} WHERE {column} NOT IN (SELECT id FROM {kept})"  # noqa: S608
                self._execute(sql)

    def _issues(self, where: str, value: object) -> list[Row]:
        rows = self._execute(f"SELECT * FROM issues WHERE {where}", (value,))  # noqa: S608 - words of our own
        own = ("team", "key", "project")
        return [{**json.loads(row["data"]), **{name: row[name] for name in own}} for row in rows]

    def _execute(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return execute(self._db, sql, values)
