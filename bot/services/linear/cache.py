"""Cache of a Linear workspace: issues, comments, how far lists were read, and our own comments, reactions and moves.

Rule: a cursor and the records it covers are saved in one `changing()`, without an await in it. All of it may be lost.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bot.services.http.availability import execute
from bot.services.http.cache_file import open_cache_file, open_or_replace_cache_file
from bot.services.http.comment_outbox import OwnComment
from bot.system.database import transaction

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"))

Row: TypeAlias = Mapping[str, Any]

SHAPE = "3"
"""Raise it when the keys of a record change: records in an older shape are read from Linear again."""


def open_cache(path: Path) -> sqlite3.Connection:
    return open_cache_file(path, MIGRATIONS)


def open_or_replace_cache(path: Path, *, at: float) -> sqlite3.Connection:
    return open_or_replace_cache_file(path, MIGRATIONS, at=at)


@dataclass(frozen=True, slots=True)
class AuthorPermission:
    """Permissions of a comment's author when this version of the comment was first read."""

    trusted: bool
    may_push: bool


@dataclass(frozen=True, slots=True)
class RecordedMove:
    """Our last move of an issue for one request."""

    request: str
    came_from: str
    """State before our first move."""
    prior: str
    """State before our last move."""
    went_to: str
    after: str = ""
    """Time of the last move by others before ours."""


class Cache:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        if self.cursor("", "shape") != SHAPE:
            with self.changing():
                for table in ("issues", "comments", "cursors", "consents"):
                    self._execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
                self.advance("", "shape", SHAPE)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One transaction."""
        with transaction(self._db, self._execute):
            yield

    # Issues

    def find_issue(self, issue: str) -> Row | None:
        return next(iter(self._issues("id = ?", issue)), None)

    def find_by_key(self, key: str) -> Row | None:
        return next(iter(self._issues("key = ?", key)), None)

    def issues_of(self, team: str) -> list[Row]:
        return self._issues("team = ?", team)

    def titles(self) -> Mapping[str, str]:
        """Keyed by issue key, of all teams."""
        return {row["key"]: row["title"] for row in self._issues("1 = ?", 1)}

    def addresses(self) -> Mapping[str, str]:
        """URLs keyed by issue key, of all teams."""
        return {row["key"]: row["url"] for row in self._issues("1 = ?", 1)}

    def keep_issue(self, row: Row, *, team: str, key: str, project: str) -> None:
        self._execute(
            "INSERT OR REPLACE INTO issues (id, team, key, project, data) VALUES (?, ?, ?, ?, ?)",
            (row["id"], team, key, project, json.dumps(row)),
        )

    def update_issue(self, issue: str, **fields: object) -> None:
        """Applies a change of ours before Linear's lists show it."""
        if row := self.find_issue(issue):
            self._execute("UPDATE issues SET data = ? WHERE id = ?", (json.dumps({**row, **fields}), issue))

    def set_project(self, issue: str, project: str) -> None:
        self._execute("UPDATE issues SET project = ? WHERE id = ? AND project <> ?", (project, issue, project))

    def set_team(self, issue: str, team: str) -> None:
        self._execute("UPDATE issues SET team = ? WHERE id = ?", (team, issue))

    def rename(self, issue: str, key: str) -> None:
        self._execute("UPDATE issues SET key = ? WHERE id = ?", (key, issue))

    def forget_issue(self, issue: str) -> None:
        for table, column in (("issues", "id"), ("comments", "issue"), ("consents", "issue")):
            self._execute(f"DELETE FROM {table} WHERE {column} = ?", (issue,))  # noqa: S608 - names of our own

    def find_authorization(self, issue: str) -> Row | None:
        row = self._execute("SELECT data FROM consents WHERE issue = ?", (issue,)).fetchone()
        return json.loads(row["data"]) if row else None

    def keep_authorization(self, issue: str, row: Row) -> None:
        self._execute("INSERT OR REPLACE INTO consents (issue, data) VALUES (?, ?)", (issue, json.dumps(row)))

    # Comments

    def comments_on(self, issue: str) -> list[Row]:
        """Oldest first."""
        rows = self._execute("SELECT data FROM comments WHERE issue = ?", (issue,))
        return sorted((json.loads(row["data"]) for row in rows), key=lambda row: (row["created"], row["id"]))

    def keep_comment(self, row: Row) -> None:
        """Saves a comment unless the cache holds a newer version."""
        sql = "SELECT updated FROM comments WHERE id = ?"
        known = self._execute(sql, (row["id"],)).fetchone()
        if known is None or known["updated"] <= row["updated"]:
            self._execute(
                "INSERT OR REPLACE INTO comments (id, issue, updated, data) VALUES (?, ?, ?, ?)",
                (row["id"], row["issue"], row["updated"], json.dumps(row)),
            )

    def forget_comment(self, comment: str) -> None:
        self._execute("DELETE FROM comments WHERE id = ?", (comment,))

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

    # Our comments, reactions and moves

    def find_own_comment(self, issue: str, slug: str) -> OwnComment | None:
        sql = "SELECT * FROM said WHERE issue = ? AND slug = ?"
        row = self._execute(sql, (issue, slug)).fetchone()
        return OwnComment(issue, slug, row["id"], row["digest"], row["tried_at"]) if row else None

    def keep_own_comment(self, comment: OwnComment) -> None:
        self._execute(
            "INSERT OR REPLACE INTO said (issue, slug, id, digest, tried_at) VALUES (?, ?, ?, ?, ?)",
            (comment.issue, comment.slug, comment.id, comment.digest, comment.tried_at),
        )

    def forget_own_comment(self, comment: OwnComment) -> None:
        self._execute("DELETE FROM said WHERE issue = ? AND slug = ?", (comment.issue, comment.slug))

    def reactions(self) -> Mapping[str, frozenset[str]]:
        """Keyed by comment."""
        found: dict[str, frozenset[str]] = {}
        for row in self._execute("SELECT comment, reaction FROM reactions"):
            found[row["comment"]] = found.get(row["comment"], frozenset()) | {row["reaction"]}
        return found

    def keep_reaction(self, comment: str, reaction: str) -> None:
        self._execute("INSERT OR IGNORE INTO reactions (comment, reaction) VALUES (?, ?)", (comment, reaction))

    def find_move(self, issue: str) -> RecordedMove | None:
        row = self._execute("SELECT * FROM moves WHERE issue = ?", (issue,)).fetchone()
        names = ("request", "came_from", "prior", "went_to", "after")
        return RecordedMove(*(str(row[name]) for name in names)) if row else None

    def keep_move(self, issue: str, move: RecordedMove) -> None:
        self._execute(
            "INSERT OR REPLACE INTO moves (issue, request, came_from, prior, went_to, after) VALUES (?, ?, ?, ?, ?, ?)",
            (issue, move.request, move.came_from, move.prior, move.went_to, move.after),
        )

    # Permissions of authors

    def find_author_permission(self, comment: str, version: str) -> AuthorPermission | None:
        """Returns None if this version of the comment has not been judged."""
        sql = "SELECT trusted, may_push FROM verdicts WHERE comment = ? AND version = ?"
        row = self._execute(sql, (comment, version)).fetchone()
        return AuthorPermission(bool(row["trusted"]), bool(row["may_push"])) if row else None

    def keep_author_permission(self, comment: str, version: str, permission: AuthorPermission) -> None:
        self._execute(
            "INSERT OR REPLACE INTO verdicts (comment, version, trusted, may_push) VALUES (?, ?, ?, ?)",
            (comment, version, permission.trusted, permission.may_push),
        )

    def tidy(self) -> None:
        """Removes rows of issues and comments that are no longer cached."""
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
