"""Who asked for the work, and for which words: what strangers write afterwards is not what was asked for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bot.domain.issue import Edit, Person
from bot.services.github.cache import Kind, Row
from bot.services.github.errors import NoGraphQL, NotFound, Refused
from bot.services.github.graphql_queries import REQUESTS
from bot.services.github.parse import email_of, parse_author
from bot.services.github.permissions import People
from bot.services.github.repository_api import Access

_AT_ONCE = 50
_SECONDS_BEFORE_ASKING_AGAIN = 600.0
_NOBODY: Row = {"login": "", "id": 0}


@dataclass(frozen=True, slots=True)
class Change:
    """By whom the words are as they are."""

    at: str
    by: Row
    before: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """What became of an issue, as far as it matters who did it."""

    label_at: str = ""
    label_by: Row | None = None
    renames: tuple[Change, ...] = ()
    last_edit: Change | None = None


class Consent:
    def __init__(self, access: Access, people: People, label: str) -> None:
        self._access = access
        self._notebook = access.notebook
        self._people = people
        self._label = label.lower()
        self._asked: set[int] = set()

    async def refresh(self, rows: Collection[Row], active: Collection[int]) -> None:
        """Active ones keep the words they began with."""
        known = self.of([row["number"] for row in rows])
        due = [row for row in rows if self._is_due(row, known.get(row["number"]), row["number"] in active)]
        for start in range(0, len(due), _AT_ONCE):
            some = due[start : start + _AT_ONCE]
            histories = await self._histories(some)
            judged = [
                await self._judged(row, histories[row["number"]], known.get(row["number"]), row["number"] in active)
                for row in some
            ]
            with self._notebook.changing():
                for consent in judged:
                    self._notebook.keep(Kind.CONSENT, consent, one=consent["number"], number=consent["number"])
            self._asked |= {consent["number"] for consent in judged}

    def of(self, numbers: Collection[int]) -> Mapping[int, Row]:
        return {consent["number"]: consent for consent in self._notebook.under(Kind.CONSENT, numbers)}

    def _is_due(self, row: Row, known: Row | None, active: bool) -> bool:  # noqa: FBT001
        if known is None or known["label"] != self._label:
            return True
        if active and known["trusted"]:
            return bool([row["title"], row["body"]] != known["words"])
        if known["trusted"]:
            return bool(row["updated"] != known["version"])
        late = self._access.service.now() - known["asked_at"] > _SECONDS_BEFORE_ASKING_AGAIN
        new = row["number"] not in self._asked or row["updated"] != known["version"]
        return new or late or not known["request"]

    async def _judged(self, row: Row, history: History, known: Row | None, active: bool) -> Row:  # noqa: FBT001
        by = history.label_by or _NOBODY
        request = f"{history.label_at} {by['login']}" if history.label_by else ""
        trusted = await self._people.may_steer(by)
        fresh = {"label": self._label, "request": request, "by": by, "trusted": trusted}
        pinned = None
        if known and known["trusted"] and known["label"] == self._label and (active or known["request"] == request):
            pinned = known
            fresh = {name: known[name] for name in fresh}
        words = await self._words(row, history, pinned) if fresh["trusted"] else _as_they_are(row)
        return {
            **fresh,
            **words,
            "number": row["number"],
            "words": [row["title"], row["body"]],
            "version": row["updated"],
            "asked_at": self._access.service.now(),
        }

    async def _words(self, row: Row, history: History, pinned: Row | None) -> Row:
        """Title and body that may be used, and the change that may not."""
        if await self._people.may_steer(row["author"]):
            return _as_they_are(row)
        renamed = _explained("title", row, pinned, history.renames[-1] if history.renames else None)
        edited = _explained("body", row, pinned, history.last_edit)
        strange = [change for change in (renamed, edited) if change and not await self._people.may_steer(change.by)]
        if not strange:
            return _as_they_are(row)
        held = pinned or {
            "title": await self._title_before_strangers(row["title"], history),
            "body": "" if edited in strange else row["body"],
            "known": edited not in strange,
        }
        if held["known"] and (held["title"], held["body"]) == (row["title"], row["body"]):
            return _as_they_are(row)
        edit = {"id": _digest(row), "by": strange[-1].by, "title": row["title"], "body": row["body"]}
        return {"title": held["title"], "body": held["body"], "known": held["known"], "edit": edit}

    async def _title_before_strangers(self, title: str, history: History) -> str:
        for change in reversed(history.renames):
            if await self._people.may_steer(change.by):
                break
            title = change.before
        return title

    async def _histories(self, rows: Sequence[Row]) -> Mapping[int, History]:
        try:
            answer = await self._access.graphql(REQUESTS, {"ids": [row["node"] for row in rows]})
        except NoGraphQL:
            found = {}
        else:
            found = {node["number"]: self._parse(node) for node in answer["nodes"] if node}
        return {row["number"]: found.get(row["number"]) or await self._from_events(row) for row in rows}

    def _parse(self, node: Mapping[str, Any]) -> History | None:
        items = [item for item in (node.get("timelineItems") or {}).get("nodes") or () if item]
        labelled = [
            Change(item["createdAt"], _actor(item.get("actor")))
            for item in items
            if item["__typename"] == "LabeledEvent" and item["label"]["name"].lower() == self._label
        ]
        renames = [
            Change(item["createdAt"], _actor(item.get("actor")), item["previousTitle"])
            for item in items
            if item["__typename"] == "RenamedTitleEvent"
        ]
        edited_at = node.get("lastEditedAt") or ""
        edit = Change(edited_at, _actor(node.get("editor"))) if edited_at else None
        return _history(labelled, renames, edit)

    async def _from_events(self, row: Row) -> History:
        """Without GraphQL nobody tells who edited a body: what nothing explains was an edit by somebody."""
        labelled, renames, explained = [], [], row["created"]
        for event in await self._events(row["number"]):
            explained = max(explained, event["created_at"])
            by = parse_author(event.get("actor"))
            if event["event"] == "labeled" and event["label"]["name"].lower() == self._label:
                labelled.append(Change(event["created_at"], by))
            if event["event"] == "renamed":
                renames.append(Change(event["created_at"], by, event["rename"]["from"]))
        said = self._notebook.under(Kind.COMMENT, [row["number"]])
        explained = max([explained, *(comment["updated"] for comment in said)])
        edit = Change(row["updated"], _NOBODY) if row["updated"] > explained else None
        return _history(labelled, renames, edit) or History()

    async def _events(self, number: int) -> list[Row]:
        """Of a server that does not tell, nothing is known."""
        try:
            pages = [page async for page in self._access.pages(f"/issues/{number}/events")]
        except (NotFound, Refused):
            return []
        return [event for page in pages for event in page.data if event.get("created_at")]


def person(who: Row, *, trusted: bool) -> Person:
    return Person(who["login"] or "somebody", email_of(who), trusted=trusted)


def find_edit(consent: Row) -> Edit | None:
    edit = consent["edit"]
    if not edit:
        return None
    by = person(edit["by"], trusted=False)
    return Edit(edit["id"], by, edit["title"], edit["body"], original_known=consent["known"])


def _history(labelled: Sequence[Change], renames: Sequence[Change], edit: Change | None) -> History | None:
    """Only what came after the label was applied; at the same second counts as after."""
    asked = max(labelled, key=lambda change: change.at, default=None)
    if asked is None:
        return None
    later = sorted((change for change in renames if change.at >= asked.at), key=lambda change: change.at)
    return History(asked.at, asked.by, tuple(later), edit if edit and edit.at >= asked.at else None)


def _explained(name: str, row: Row, pinned: Row | None, change: Change | None) -> Change | None:
    """By whom it is other than it was. A history that lags shows only what was before: then it is nobody's."""
    if pinned and row[name] != pinned[name] and (change is None or change.at <= pinned["version"]):
        return Change("", _NOBODY)
    return change


def _as_they_are(row: Row) -> Row:
    return {"title": row["title"], "body": row["body"], "known": True, "edit": None}


def _actor(payload: Any) -> Row:
    who = dict(parse_author(payload))
    if payload and payload.get("__typename") == "Bot" and not who["login"].endswith("[bot]"):
        who["login"] += "[bot]"  # as REST calls it
    return who


def _digest(row: Row) -> str:
    return sha256(f"{row['title']}\0{row['body']}".encode(errors="surrogatepass")).hexdigest()[:16]
