"""What is said on issues and pull requests, by people and by us."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.domain.comment import Comment, Place, Reaction, Remark
from bot.domain.issue import Person
from bot.services.local.database import Book
from bot.services.local.input_rules import BOT, cleaned


@dataclass(frozen=True, slots=True)
class Said:
    """One comment as it is shown to people: everybody's, ours too."""

    id: str
    author: str
    text: str
    at: float
    ours: bool
    verdict: str
    thread: str
    remarks: tuple[Remark, ...]
    reactions: frozenset[Reaction]


class Talk:
    def __init__(self, book: Book) -> None:
        self._book = book

    def add(
        self, project: str, number: int, *, by: str, text: str, verdict: str = "", remarks: Sequence[Remark] = ()
    ) -> str:
        with self._book.changing():
            comment = self._book.add(
                "INSERT INTO comments (project, number, author, text, verdict, at) VALUES (?, ?, ?, ?, ?, ?)",
                project, number, by, text, verdict, self._book.clock(),
            )  # fmt: skip
            for position, remark in enumerate(remarks):
                self._book.change(
                    "INSERT INTO remarks VALUES (?, ?, ?, ?, ?, ?)",
                    comment, position, remark.path, remark.line, remark.text, remark.hunk,
                )  # fmt: skip
        return str(comment)

    def ensure_ours(self, project: str, number: int, *, slug: str, text: str, thread: str = "", note: str = "") -> None:
        with self._book.changing():
            self._book.change(
                "INSERT INTO comments (project, number, author, slug, text, thread, note, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, number, slug) WHERE slug IS NOT NULL"
                " DO UPDATE SET text = excluded.text, note = excluded.note",
                project, number, BOT, slug, cleaned(text), thread, note, self._book.clock(),
            )  # fmt: skip

    def notes(self, project: str, number: int) -> list[str]:
        rows = self._book.rows(
            "SELECT note FROM comments WHERE project = ? AND number = ? AND note != '' ORDER BY id",
            project, number,
        )  # fmt: skip
        return [row["note"] for row in rows]

    def ensure_reaction(self, project: str, number: int, *, comment: str, reaction: Reaction) -> None:
        """A comment that is gone needs none."""
        with self._book.changing():
            self._book.change(
                "INSERT OR IGNORE INTO reactions "
                "SELECT id, ? FROM comments WHERE CAST(id AS TEXT) = ? AND project = ? AND number = ?",
                reaction, comment, project, number,
            )  # fmt: skip

    def by_people(self, place: Place, project: str, numbers: Collection[int]) -> dict[int, tuple[Comment, ...]]:
        """In four queries at most, however many are asked about. An approval without words says nothing."""
        found: dict[int, list[Comment]] = {number: [] for number in numbers}
        for number, said in self._all(project, numbers):
            if said.ours or not (said.text or said.remarks):
                continue
            author = Person(said.author, trusted=True, may_push=True)
            found[number].append(
                Comment(said.id, place, author, said.text, said.at, said.remarks, said.reactions),
            )
        return {number: tuple(comments) for number, comments in found.items()}

    def everything(self, project: str, number: int) -> tuple[Said, ...]:
        return tuple(said for _, said in self._all(project, [number]))

    def _all(self, project: str, numbers: Collection[int]) -> list[tuple[int, Said]]:
        rows = self._book.rows(
            "SELECT * FROM comments WHERE project = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY id",
            project, json.dumps(list(numbers)),
        )  # fmt: skip
        ids = json.dumps([row["id"] for row in rows])
        remarks, reactions = self._remarks(ids), self._reactions(ids)
        return [(row["number"], _said(row, remarks[row["id"]], reactions[row["id"]])) for row in rows]

    def _remarks(self, ids: str) -> dict[int, list[Remark]]:
        found = defaultdict(list)
        for row in self._book.rows(
            "SELECT * FROM remarks WHERE comment IN (SELECT value FROM json_each(?)) ORDER BY comment, position", ids
        ):
            name = f"{row['comment']}.{row['position']}"
            found[row["comment"]].append(Remark(row["path"], row["line"], row["text"], row["hunk"], name))
        return found

    def _reactions(self, ids: str) -> dict[int, set[Reaction]]:
        found = defaultdict(set)
        for row in self._book.rows("SELECT * FROM reactions WHERE comment IN (SELECT value FROM json_each(?))", ids):
            found[row["comment"]].add(Reaction(row["reaction"]))
        return found


def _said(row: sqlite3.Row, remarks: Collection[Remark], reactions: Collection[Reaction]) -> Said:
    return Said(
        id=str(row["id"]),
        author=row["author"],
        text=row["text"],
        at=row["at"],
        ours=row["slug"] is not None,
        verdict=row["verdict"],
        thread=row["thread"],
        remarks=tuple(remarks),
        reactions=frozenset(reactions),
    )
