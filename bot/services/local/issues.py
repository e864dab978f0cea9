"""Issues: what people do with them, and what the bot reads and writes there."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from bot.domain.comment import Comment, Place, Reaction
from bot.domain.issue import Issue, Person
from bot.errors import NeedsHuman
from bot.services.local.comments import Said, Talk
from bot.services.local.database import Book
from bot.services.local.input_rules import (
    BOT,
    checked_comment,
    checked_label,
    checked_name,
    checked_text,
    checked_title,
)


@dataclass(frozen=True, slots=True)
class Thread:
    """An issue with everything said on it."""

    issue: Issue
    author: str
    said: tuple[Said, ...]


class Issues:
    """Those of one project."""

    def __init__(self, book: Book, project: str) -> None:
        self._book = book
        self._project = project
        self._talk = Talk(book)

    # What people do.

    def open(self, title: str, *, by: str, body: str = "", labels: Collection[str] = (), priority: int = 0) -> Issue:
        title, body, by = checked_title(title), checked_text(body), checked_name(by)
        names = [checked_label(name) for name in labels]
        with self._book.changing():
            number = self._book.next_number(self._project)
            self._book.change(
                "INSERT INTO issues (project, number, title, body, author, priority, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                self._project, number, title, body, by, priority, self._book.clock(),
            )  # fmt: skip
            self._add_labels(number, names, by)
        return self.show(number).issue

    def listed(self, *, closed: bool = False) -> list[Issue]:
        """Newest first; the open ones, or with `closed` all of them."""
        rows = self._book.rows(
            "SELECT * FROM issues WHERE project = ? AND open >= ? ORDER BY number DESC", self._project, not closed
        )
        return self._issues(rows)

    def show(self, number: int) -> Thread:
        row = self._found(number)
        (issue,) = self._issues([row])
        return Thread(issue, row["author"], self._talk.everything(self._project, number))

    def label(self, number: int, *labels: str, by: str) -> None:
        by, names = checked_name(by), [checked_label(name) for name in labels]
        with self._book.changing():
            self._found(number)
            self._add_labels(number, names, by)

    def unlabel(self, number: int, *labels: str, by: str) -> None:
        checked_name(by)
        names = [checked_label(name) for name in labels]
        with self._book.changing():
            self._found(number)
            self._remove_labels(number, names)

    def comment(self, number: int, text: str, *, by: str) -> str:
        """Its id."""
        text, by = checked_comment(text), checked_name(by)
        self._found(number)
        return self._talk.add(self._project, number, by=by, text=text)

    def close(self, number: int, *, by: str) -> None:
        self._set_open(number, by, is_open=False)

    def reopen(self, number: int, *, by: str) -> None:
        self._set_open(number, by, is_open=True)

    # What the bot reads and writes.

    def snapshot(self, label: str, numbers: Collection[int]) -> tuple[list[Issue], dict[str, tuple[Comment, ...]]]:
        """Every open issue with the label, and those asked about. As many queries for a thousand as for one."""
        rows = self._book.rows(
            "SELECT * FROM issues WHERE project = ?1 AND (number IN (SELECT value FROM json_each(?2)) OR (open AND "
            "number IN (SELECT number FROM labels WHERE project = ?1 AND name = ?3))) ORDER BY number",
            self._project, json.dumps(list(numbers)), label,
        )  # fmt: skip
        comments = self._talk.by_people(Place.ISSUE, self._project, [row["number"] for row in rows])
        return self._issues(rows, label), {self._key(number): said for number, said in comments.items()}

    def left(self, label: str, labels: Collection[str]) -> list[str]:
        """Closed with the label, or open with one of the others and without it."""
        rows = self._book.rows(
            "WITH asking AS (SELECT number FROM labels WHERE project = ?1 AND name = ?2), shown AS (SELECT number FROM"
            " labels WHERE project = ?1 AND name IN (SELECT value FROM json_each(?3))) SELECT number FROM issues"
            " WHERE project = ?1 AND CASE WHEN open THEN number IN shown AND number NOT IN asking"
            " ELSE number IN asking END",
            self._project, label, json.dumps(sorted(labels)),
        )  # fmt: skip
        return [self._key(row["number"]) for row in rows]

    def titles(self) -> dict[str, str]:
        """Of every issue there ever was, by key."""
        rows = self._book.rows("SELECT number, title FROM issues WHERE project = ?", self._project)
        return {self._key(row["number"]): row["title"] for row in rows}

    def ensure_comment(self, number: int, *, slug: str, text: str, note: str = "") -> None:
        self._found(number)
        self._talk.ensure_ours(self._project, number, slug=slug, text=text, note=note)

    def notes(self, number: int) -> list[str]:
        """What we wrote into our comments for ourselves, oldest first."""
        return self._talk.notes(self._project, number)

    def ensure_labels(self, number: int, *, add: Collection[str], remove: Collection[str]) -> None:
        with self._book.changing():
            self._found(number)
            self._remove_labels(number, remove)
            self._add_labels(number, add, BOT)

    def ensure_reaction(self, number: int, *, comment: str, reaction: Reaction) -> None:
        self._talk.ensure_reaction(self._project, number, comment=comment, reaction=reaction)

    def _found(self, number: int) -> sqlite3.Row:
        row = self._book.row("SELECT * FROM issues WHERE project = ? AND number = ?", self._project, number)
        if row:
            return row
        if self._book.row("SELECT 1 FROM pulls WHERE project = ? AND number = ?", self._project, number):
            raise NeedsHuman(f"{self._key(number)} is a pull request: `treehand pr show {self._key(number)}`.")
        raise NeedsHuman(f"There is no issue {self._key(number)}. `treehand issue list` shows those there are.")

    def _add_labels(self, number: int, names: Collection[str], by: str) -> None:
        """Whoever applied a label first keeps the credit."""
        for name in names:
            self._book.change(
                "INSERT OR IGNORE INTO labels VALUES (?, ?, ?, ?, ?)",
                self._project, number, name, by, self._book.clock(),
            )  # fmt: skip

    def _remove_labels(self, number: int, names: Collection[str]) -> None:
        self._book.change(
            "DELETE FROM labels WHERE project = ? AND number = ? AND name IN (SELECT value FROM json_each(?))",
            self._project, number, json.dumps(list(names)),
        )  # fmt: skip

    def _set_open(self, number: int, by: str, *, is_open: bool) -> None:
        checked_name(by)
        with self._book.changing():
            self._found(number)
            self._book.change(
                "UPDATE issues SET open = ? WHERE project = ? AND number = ?", is_open, self._project, number
            )

    def _issues(self, rows: Collection[sqlite3.Row], label: str = "") -> list[Issue]:
        labels: dict[int, dict[str, str]] = defaultdict(dict)
        for row in self._book.rows(
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
            asked_by=Person(labels.get(label, row["author"]), trusted=True),
            created_at=row["created_at"],
            priority=row["priority"],
        )

    def _key(self, number: int) -> str:
        return f"{self._project}#{number}"
