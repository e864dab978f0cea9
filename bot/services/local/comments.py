"""Comments, remarks and reactions on local issues and pull requests."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.domain.comment import Comment, CommentPlace, Remark
from bot.domain.issue import Person
from bot.domain.reaction import Reaction
from bot.services.local.database import LocalDatabase
from bot.services.local.input_rules import BOT, clean_text


@dataclass(frozen=True, slots=True)
class ShownComment:
    """A comment of a person or of Treehand, as shown to people."""

    id: str
    author: str
    text: str
    at: float
    ours: bool
    verdict: str
    thread: str
    remarks: tuple[Remark, ...]
    reactions: frozenset[Reaction]


class LocalComments:
    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    def add(
        self, project: str, number: int, *, by: str, text: str, verdict: str = "", remarks: Sequence[Remark] = ()
    ) -> str:
        with self._database.transaction():
            comment = self._database.add(
                "INSERT INTO comments (project, number, author, text, verdict, at) VALUES (?, ?, ?, ?, ?, ?)",
                project, number, by, text, verdict, self._database.clock(),
            )  # fmt: skip
            for position, remark in enumerate(remarks):
                self._database.change(
                    "INSERT INTO remarks VALUES (?, ?, ?, ?, ?, ?)",
                    comment, position, remark.path, remark.line, remark.text, remark.hunk,
                )  # fmt: skip
        return str(comment)

    def ensure_ours(self, project: str, number: int, *, slug: str, text: str, thread: str = "", note: str = "") -> None:
        with self._database.transaction():
            self._database.change(
                "INSERT INTO comments (project, number, author, slug, text, thread, note, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, number, slug) WHERE slug IS NOT NULL"
                " DO UPDATE SET text = excluded.text, note = excluded.note",
                project, number, BOT, slug, clean_text(text), thread, note, self._database.clock(),
            )  # fmt: skip

    def notes(self, project: str, number: int) -> list[str]:
        rows = self._database.rows(
            "SELECT note FROM comments WHERE project = ? AND number = ? AND note != '' ORDER BY id",
            project, number,
        )  # fmt: skip
        return [row["note"] for row in rows]

    def ensure_reaction(self, project: str, number: int, *, comment: str, reaction: Reaction) -> None:
        """Does nothing if the comment no longer exists."""
        with self._database.transaction():
            self._database.change(
                "INSERT OR IGNORE INTO reactions "
                "SELECT id, ? FROM comments WHERE CAST(id AS TEXT) = ? AND project = ? AND number = ?",
                reaction, comment, project, number,
            )  # fmt: skip

    def list_by_people(
        self, place: CommentPlace, project: str, numbers: Collection[int]
    ) -> dict[int, tuple[Comment, ...]]:
        """Needs at most four queries for any number. Leaves out approvals without text."""
        found: dict[int, list[Comment]] = {number: [] for number in numbers}
        for number, comment in self._all(project, numbers):
            if comment.ours or not (comment.text or comment.remarks):
                continue
            author = Person(comment.author, trusted=True, may_push=True)
            found[number].append(
                Comment(comment.id, place, author, comment.text, comment.at, comment.remarks, comment.reactions),
            )
        return {number: tuple(comments) for number, comments in found.items()}

    def list_all(self, project: str, number: int) -> tuple[ShownComment, ...]:
        return tuple(comment for _, comment in self._all(project, [number]))

    def _all(self, project: str, numbers: Collection[int]) -> list[tuple[int, ShownComment]]:
        rows = self._database.rows(
            "SELECT * FROM comments WHERE project = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY id",
            project, json.dumps(list(numbers)),
        )  # fmt: skip
        ids = json.dumps([row["id"] for row in rows])
        remarks, reactions = self._remarks(ids), self._reactions(ids)
        return [(row["number"], _shown_comment(row, remarks[row["id"]], reactions[row["id"]])) for row in rows]

    def _remarks(self, ids: str) -> dict[int, list[Remark]]:
        found = defaultdict(list)
        for row in self._database.rows(
            "SELECT * FROM remarks WHERE comment IN (SELECT value FROM json_each(?)) ORDER BY comment, position", ids
        ):
            name = f"{row['comment']}.{row['position']}"
            found[row["comment"]].append(Remark(row["path"], row["line"], row["text"], row["hunk"], name))
        return found

    def _reactions(self, ids: str) -> dict[int, set[Reaction]]:
        found = defaultdict(set)
        for row in self._database.rows(
            "SELECT * FROM reactions WHERE comment IN (SELECT value FROM json_each(?))", ids
        ):
            found[row["comment"]].add(Reaction(row["reaction"]))
        return found


def _shown_comment(row: sqlite3.Row, remarks: Collection[Remark], reactions: Collection[Reaction]) -> ShownComment:
    return ShownComment(
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
