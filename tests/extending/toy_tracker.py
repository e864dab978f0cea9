"""Toy tracker: each issue is a JSON file in a folder. The worked example of docs/extending.md."""

import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.comment import Comment, CommentPlace
from bot.domain.issue import Issue, Person
from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from bot.ports import Poll, TrackerView
from bot.services.interface import Service, ServiceConnection
from bot.settings.schema import ProjectSettings, Settings

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToyTracker:
    folder: Path
    project: str
    label: str

    async def snapshot(self, keys: Collection[str], *, poll: Poll | None = None) -> TrackerView:
        rows = {key: row for key, row in self._rows() if key in keys or (row["open"] and self.label in row["labels"])}
        issues = {key: parse_issue(key, row, self.label) for key, row in rows.items()}
        return TrackerView(issues, {key: parse_comments(row) for key, row in rows.items()})

    async def judge_again(self, key: str, comments: Collection[str], *, request: bool) -> TrackerView:
        return await self.snapshot([key])

    async def changed(self) -> bool:
        return False  # it cannot tell, so it is polled

    async def ensure_comment(self, key: str, *, slug: str, text: str, note: str = "", thread: str = "") -> None:
        row = self.read(key)
        own = next((one for one in row["comments"] if one["slug"] == slug), None)
        if own is None:
            row["comments"].append(own := new_comment(row, slug=slug))
        own |= {"text": text, "note": note}
        self.write(key, row)

    async def find_orphaned(self, labels: Collection[str]) -> Collection[str]:
        marked, wanted = set(labels), self.label
        return [
            key
            for key, row in self._rows()
            if (wanted not in row["labels"] and marked & set(row["labels"]) if row["open"] else wanted in row["labels"])
        ]

    async def read_run_notes(self, key: str) -> Sequence[str]:
        return [one["note"] for one in self.read(key)["comments"] if one["note"]]

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        row = self.read(key)
        kept = {name: by for name, by in row["labels"].items() if name not in remove}
        self.write(key, row | {"labels": {**dict.fromkeys(add, "bot"), **kept}})

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        row = self.read(key)
        for one in row["comments"]:
            if one["id"] == comment and reaction not in one["reactions"]:
                one["reactions"].append(reaction)
        self.write(key, row)

    async def comment_as(self, key: str, person: str, text: str) -> None:
        row = self.read(key)
        row["comments"].append(new_comment(row, author=person, text=text))
        self.write(key, row)

    async def open_issue(self, title: str, body: str, labels: Sequence[str], *, by: str) -> str:
        key = f"{self.project}#{len(list(self._rows())) + 1}"
        row = {"title": title, "body": body, "labels": dict.fromkeys(labels, by), "open": True, "comments": []}
        self.write(key, row)
        return key

    def _rows(self) -> Iterator[tuple[str, Row]]:
        for path in sorted(self.folder.glob("*.json")):
            yield f"{self.project}#{path.stem}", json.loads(path.read_text())

    def read(self, key: str) -> Row:
        if not (path := self._path(key)).is_file():
            raise NeedsHuman(f"There is no issue {key} in {self.folder}.")
        return dict(json.loads(path.read_text()))

    def write(self, key: str, row: Row) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path(key).write_text(json.dumps(row))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key.rpartition('#')[2]}.json"


def parse_issue(key: str, row: Row, label: str) -> Issue:
    asked_by = Person(row["labels"].get(label, "somebody"), trusted=True)
    labels, priority = frozenset(row["labels"]), row.get("priority", 0)
    return Issue(key, row["title"], row["body"], labels, row["open"], asked_by, created_at=1.0, priority=priority)


def parse_comments(row: Row) -> tuple[Comment, ...]:
    by_people = [one for one in row["comments"] if not one["slug"]]
    return tuple(
        Comment(
            id=one["id"],
            place=CommentPlace.ISSUE,
            author=Person(one["author"], trusted=True, may_push=True),
            text=one["text"],
            at=1.0,
            reactions=frozenset(map(Reaction, one["reactions"])),
        )
        for one in by_people
    )


def new_comment(row: Row, **content: str) -> Row:
    empty = {"author": "", "slug": "", "text": "", "note": "", "reactions": []}
    return {"id": f"comment-{len(row['comments'])}", **empty, **content}


@dataclass(frozen=True, slots=True)
class ToyConnection(ServiceConnection):
    settings: Settings

    def tracker(self, project: ProjectSettings) -> ToyTracker:
        return ToyTracker(self.settings.state_dir / "toy" / project.name, project.name, self.settings.label)


class ToyService(Service):
    name = "toy"
    title = "Toy"
    site = "in Toy"

    @asynccontextmanager
    async def open(
        self, settings: Settings, *, secrets: object = None, opened: Mapping[str, ServiceConnection]
    ) -> AsyncIterator[ToyConnection]:
        yield ToyConnection(settings)

    @asynccontextmanager
    async def open_for_person(self, settings: Settings, project: ProjectSettings) -> AsyncIterator[ToyTracker]:
        yield ToyConnection(settings).tracker(project)

    def place_of(self, project: ProjectSettings) -> str:
        return f"the folder toy/{project.name}"
