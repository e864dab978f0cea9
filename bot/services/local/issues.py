"""Local issues: people's actions, and the bot's reads and writes."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from bot.domain.comment import Comment, CommentPlace
from bot.domain.issue import Issue, Person
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from bot.services.local.comments import LocalComments, ShownComment
from bot.services.local.database import LocalDatabase
from bot.services.local.input_rules import (
    BOT,
    check_comment,
    check_label,
    check_person,
    check_text,
    check_title,
)


@dataclass(frozen=True, slots=True)
class IssueThread:
    """An issue with all its comments."""

    issue: Issue
    author: str
    comments: tuple[ShownComment, ...]


class LocalIssues:
    """Issues of one project."""

    def __init__(self, database: LocalDatabase, project: str) -> None:
        self._database = database
        self._project = project
        self._comments = LocalComments(database)

    # People's actions

    def open(self, title: str, *, by: str, body: str = "", labels: Collection[str] = (), priority: int = 0) -> Issue:
        title, body, by = check_title(title), check_text(body), check_person(by)
        names = [check_label(name) for name in labels]
        with self._database.transaction():
            number = self._database.next_number(self._project)
            self._database.change(
                "INSERT INTO issues (project, number, title, body, author, priority, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                self._project, number, title, body, by, priority, self._database.clock(),
            )  # fmt: skip
            self._add_labels(number, names, by)
        return self.show(number).issue

    def list_issues(self, *, closed: bool = False) -> list[Issue]:
        """Open issues, newest first; with `closed` all issues."""
        rows = self._database.rows(
            "SELECT * FROM issues WHERE project = ? AND open >= ? ORDER BY number DESC", self._project, not closed
        )
        return self._issues(rows)

    def show(self, number: int) -> IssueThread:
        row = self._get_row(number)
        (issue,) = self._issues([row])
        return IssueThread(issue, row["author"], self._comments.list_all(self._project, number))

    def label(self, number: int, *labels: str, by: str) -> None:
        by, names = check_person(by), [check_label(name) for name in labels]
        with self._database.transaction():
            self._get_row(number)
            self._add_labels(number, names, by)

    def unlabel(self, number: int, *labels: str, by: str) -> None:
        check_person(by)
        names = [check_label(name) for name in labels]
        with self._database.transaction():
            self._get_row(number)
            self._remove_labels(number, names)

    def comment(self, number: int, text: str, *, by: str) -> str:
        """Returns the comment's id."""
        text, by = check_comment(text), check_person(by)
        self._get_row(number)
        return self._comments.add(self._project, number, by=by, text=text)

    def close(self, number: int, *, by: str) -> None:
        self._set_open(number, by, is_open=False)

    def reopen(self, number: int, *, by: str) -> None:
        self._set_open(number, by, is_open=True)

    # The bot's reads and writes

    def snapshot(self, label: str, numbers: Collection[int]) -> tuple[list[Issue], dict[str, tuple[Comment, ...]]]:
        """Open issues with the label, and the issues in `numbers`, in a constant number of queries."""
        rows = self._database.rows(
            "SELECT * FROM issues WHERE project = ?1 AND (number IN (SELECT value FROM json_each(?2)) OR (open AND "
            "number IN (SELECT number FROM labels WHERE project = ?1 AND name = ?3))) ORDER BY number",
            self._project, json.dumps(list(numbers)), label,
        )  # fmt: skip
        comments = self._comments.list_by_people(CommentPlace.ISSUE, self._project, [row["number"] for row in rows])
        return self._issues(rows, label), {self._key(number): comments for number, comments in comments.items()}

    def list_orphaned(self, label: str, labels: Collection[str]) -> list[str]:
        """Keys of issues closed with the label, or open with one of `labels` but without it."""
        rows = self._database.rows(
            "WITH asking AS (SELECT number FROM labels WHERE project = ?1 AND name = ?2), shown AS (SELECT number FROM"
            " labels WHERE project = ?1 AND name IN (SELECT value FROM json_each(?3))) SELECT number FROM issues"
            " WHERE project = ?1 AND CASE WHEN open THEN number IN shown AND number NOT IN asking"
            " ELSE number IN asking END",
            self._project, label, json.dumps(sorted(labels)),
        )  # fmt: skip
        return [self._key(row["number"]) for row in rows]

    def titles(self) -> dict[str, str]:
        """Titles of all issues, by key."""
        rows = self._database.rows("SELECT number, title FROM issues WHERE project = ?", self._project)
        return {self._key(row["number"]): row["title"] for row in rows}

    def ensure_comment(self, number: int, *, slug: str, text: str, note: str = "") -> None:
        self._get_row(number)
        self._comments.ensure_ours(self._project, number, slug=slug, text=text, note=note)

    def notes(self, number: int) -> list[str]:
        """Notes in the bot's comments, oldest first."""
        return self._comments.notes(self._project, number)

    def ensure_labels(self, number: int, *, add: Collection[str], remove: Collection[str]) -> None:
        with self._database.transaction():
            self._get_row(number)
            self._remove_labels(number, remove)
            self._add_labels(number, add, BOT)

    def ensure_reaction(self, number: int, *, comment: str, reaction: Reaction) -> None:
        self._comments.ensure_reaction(self._project, number, comment=comment, reaction=reaction)

    def _get_row(self, number: int) -> sqlite3.Row:
        row = self._database.row("SELECT * FROM issues WHERE project = ? AND number = ?", self._project, number)
        if row:
            return row
        if self._database.row("SELECT 1 FROM pulls WHERE project = ? AND number = ?", self._project, number):
            raise NeedsHuman(f"{self._key(number)} is a pull request: `treehand pr show {self._key(number)}`.")
        raise NeedsHuman(f"There is no issue {self._key(number)}. `treehand issue list` shows the open ones.")

    def _add_labels(self, number: int, names: Collection[str], by: str) -> None:
        """The person who applied a label first stays recorded."""
        for name in names:
            self._database.change(
                "INSERT OR IGNORE INTO labels VALUES (?, ?, ?, ?, ?)",
                self._project, number, name, by, self._database.clock(),
            )  # fmt: skip

    def _remove_labels(self, number: int, names: Collection[str]) -> None:
        self._database.change(
            "DELETE FROM labels WHERE project = ? AND number = ? AND name IN (SELECT value FROM json_each(?))",
            self._project, number, json.dumps(list(names)),
        )  # fmt: skip

    def _set_open(self, number: int, by: str, *, is_open: bool) -> None:
        check_person(by)
        with self._database.transaction():
            self._get_row(number)
            self._database.change(
                "UPDATE issues SET open = ? WHERE project = ? AND number = ?", is_open, self._project, number
            )

    def _issues(self, rows: Collection[sqlite3.Row], label: str = "") -> list[Issue]:
        labels: dict[int, dict[str, str]] = defaultdict(dict)
        for row in self._database.rows(
            "SELECT * FROM labels WHERE project = ? AND number IN (SELECT value FROM json_each(?))",
            self._project, json.dumps([row["number"] for row in rows]),
        ):  # fmt: skip
            labels[row["number"]][row["name"]] = row["by"]
        return [self._issue(row, labels[row["number"]], label) for row in rows]

    def _issue(self, row: sqlite3.Row, labels: dict[str, str], label: str) -> Issue:
        return Issue(
            key=self._key(row["number"]),
            title=row["title"],
            body=row["body"],
            labels=frozenset(labels),
            open=bool(row["open"]),
            requester=Person(labels.get(label, row["author"]), trusted=True),
            created_at=row["created_at"],
            priority=row["priority"],
        )

    def _key(self, number: int) -> str:
        return f"{self._project}#{number}"
