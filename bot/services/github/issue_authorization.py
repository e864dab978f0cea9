"""Authorization of an issue: its requester, and the title and body as they were requested, without edits by others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from bot.domain.issue import Edit, Person
from bot.services.github.cache import RecordKind, Row
from bot.services.github.errors import NoGraphQL, NotFound, NotTold, Refused
from bot.services.github.graphql_queries import REQUESTS
from bot.services.github.parse import NOBODY, email_of, is_same_text, parse_actor, parse_author
from bot.services.github.permissions import Permissions
from bot.services.github.repository_api import RepositoryApi

_AT_ONCE = 50
_RETRY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class WordingChange:
    """A change of title or body."""

    at: str
    by: Row
    before: str = ""


@dataclass(frozen=True, slots=True)
class EditHistory:
    """Last labelling of an issue, and the changes after it. Rule: the last editor is judged, not the author."""

    label_at: str = ""
    label_by: Row | None = None
    renames: tuple[WordingChange, ...] = ()
    last_edit: WordingChange | None = None
    lags: bool = False
    """It is about another text than the one that we read."""


class IssueAuthorization:
    def __init__(self, api: RepositoryApi, permissions: Permissions, label: str) -> None:
        self._api = api
        self._cache = api.cache
        self._permissions = permissions
        self._label = label.lower()
        self._checked: set[int] = set()

    async def refresh(self, rows: Collection[Row], active: Collection[int]) -> None:
        """Active issues keep the title and body that they began with."""
        known = self.of([row["number"] for row in rows])
        due = [row for row in rows if self._is_due(row, known.get(row["number"]), row["number"] in active)]
        for start in range(0, len(due), _AT_ONCE):
            some = due[start : start + _AT_ONCE]
            histories = await self._read_histories(some)
            tried = [
                await self._authorize(row, histories[row["number"]], known.get(row["number"]), row["number"] in active)
                for row in some
            ]
            judged = [authorization for authorization in tried if authorization]
            self._keep(judged)
            self._checked |= {authorization["number"] for authorization in judged}

    async def judge_again(self, row: Row) -> None:
        """Asks who requested and edited it, and what they may do now. Raises NotTold if GitHub does not tell."""
        known = self.of([row["number"]]).get(row["number"])
        history = (await self._read_histories([row]))[row["number"]]
        if history.lags:
            raise NotTold(f"GitHub's edit history of {self._api.key(row['number'])} does not match its text.")
        if known is None or not known["trusted"]:
            authorization = await self._authorize(row, history, known, active=True)
            return self._keep([authorization] if authorization else [])
        trusted = await self._permissions.may_steer(known["by"], fresh=True)
        # an edit that people are asked about keeps the earlier text; otherwise the current text counts
        words = await self._usable_words(row, history, None) if trusted and not known["edit"] else {}
        return self._keep([{**known, "trusted": trusted, **words}])

    def _keep(self, judged: Collection[Row]) -> None:
        with self._cache.changing():
            for authorization in judged:
                number = authorization["number"]
                self._cache.keep(RecordKind.AUTHORIZATION, authorization, record=number, number=number)

    def of(self, numbers: Collection[int]) -> Mapping[int, Row]:
        return {
            authorization["number"]: authorization
            for authorization in self._cache.under(RecordKind.AUTHORIZATION, numbers)
        }

    def _is_due(self, row: Row, known: Row | None, active: bool) -> bool:  # noqa: FBT001
        if known is None or known["label"] != self._label:
            return True
        late = self._api.client.now() - known["asked_at"] > _RETRY_SECONDS
        if known["edit"] and not known["edit"]["by"]["login"] and late:  # GitHub may name the editor by now
            return True
        if active and known["trusted"]:
            return bool([row["title"], row["body"]] != known["words"])
        if known["trusted"]:
            return bool(row["updated"] != known["version"])
        new = row["number"] not in self._checked or row["updated"] != known["version"]
        return new or late or not known["request"]

    async def _authorize(self, row: Row, history: EditHistory, known: Row | None, active: bool) -> Row | None:  # noqa: FBT001
        """Returns None if the history is about another text, and there is no earlier text to compare with."""
        by = history.label_by or NOBODY
        if known and not by["login"] and known["request"].startswith(f"{history.label_at} "):
            by = known["by"]  # the account has been deleted
        request = f"{history.label_at} {by['login']}" if history.label_by else ""
        pinned = None
        if known and known["trusted"] and known["label"] == self._label and (active or known["request"] == request):
            pinned = known
            fresh = {name: known[name] for name in ("label", "request", "by", "trusted")}
        elif history.lags:
            return None
        else:
            fresh = {"label": self._label, "request": request, "by": by, "trusted": await self._may_steer(by)}
        words = await self._usable_words(row, history, pinned) if fresh["trusted"] else _unchanged(row)
        return {
            **fresh,
            **words,
            "number": row["number"],
            "words": [row["title"], row["body"]],
            "version": row["updated"],
            "asked_at": self._api.client.now(),
        }

    async def _usable_words(self, row: Row, history: EditHistory, pinned: Row | None) -> Row:
        """Title and body that may be used, and the edit that may not."""
        renamed = _explained("title", row, pinned, history, history.renames[-1] if history.renames else None)
        edited = _explained("body", row, pinned, history, history.last_edit)
        untrusted = [change for change in (renamed, edited) if change and not await self._may_steer(change.by)]
        if not untrusted:
            return _unchanged(row)
        kept = pinned or {
            "title": await self._trusted_title(row["title"], history),
            "body": "" if edited in untrusted else row["body"],
            "known": edited not in untrusted,
        }
        if kept["known"] and (kept["title"], kept["body"]) == (row["title"], row["body"]):
            return _unchanged(row)
        edit = {"id": _digest(row), "by": untrusted[-1].by, "title": row["title"], "body": row["body"]}
        return {"title": kept["title"], "body": kept["body"], "known": kept["known"], "edit": edit}

    async def _trusted_title(self, title: str, history: EditHistory) -> str:
        for change in reversed(history.renames):
            if await self._may_steer(change.by):
                break
            title = change.before
        return title

    async def _may_steer(self, by: Row) -> bool:
        """Without an answer it is no, and GitHub is asked again."""
        try:
            return await self._permissions.may_steer(by)
        except NotTold:
            return False

    async def _read_histories(self, rows: Sequence[Row]) -> Mapping[int, EditHistory]:
        try:
            answer = await self._api.graphql(REQUESTS, {"ids": [row["node"] for row in rows]})
        except NoGraphQL:
            found = {}
        else:
            texts = {row["number"]: row for row in rows}
            found = {node["number"]: self._parse(node, texts[node["number"]]) for node in answer["nodes"] if node}
        return {row["number"]: found.get(row["number"]) or await self._read_events_history(row) for row in rows}

    def _parse(self, node: Mapping[str, Any], row: Row) -> EditHistory | None:
        items = [item for item in (node.get("timelineItems") or {}).get("nodes") or () if item]
        labelled = [
            WordingChange(item["createdAt"], parse_actor(item.get("actor")))
            for item in items
            if item["__typename"] == "LabeledEvent" and item["label"]["name"].lower() == self._label
        ]
        renames = [
            WordingChange(item["createdAt"], parse_actor(item.get("actor")), item["previousTitle"])
            for item in items
            if item["__typename"] == "RenamedTitleEvent"
        ]
        edited_at = node.get("lastEditedAt") or ""
        edit = WordingChange(edited_at, parse_actor(node.get("editor"))) if edited_at else None
        history = _history(labelled, renames, edit)
        lags = not all(is_same_text(node.get(name) or "", row[name]) for name in ("title", "body"))
        return replace(history, lags=lags) if history else None

    async def _read_events_history(self, row: Row) -> EditHistory:
        """Without GraphQL the author of an edit is unknown: an unexplained update counts as unauthorized."""
        labelled, renames, explained = [], [], row["created"]
        for event in await self._events(row["number"]):
            explained = max(explained, event["created_at"])
            by = parse_author(event.get("actor"))
            if event["event"] == "labeled" and event["label"]["name"].lower() == self._label:
                labelled.append(WordingChange(event["created_at"], by))
            if event["event"] == "renamed":
                renames.append(WordingChange(event["created_at"], by, event["rename"]["from"]))
        comments = self._cache.under(RecordKind.COMMENT, [row["number"]])
        explained = max([explained, *(comment["updated"] for comment in comments)])
        edit = WordingChange(row["updated"], NOBODY) if row["updated"] > explained else None
        return _history(labelled, renames, edit) or EditHistory()

    async def _events(self, number: int) -> list[Row]:
        """Empty if the server does not show events."""
        try:
            pages = [page async for page in self._api.pages(f"/issues/{number}/events")]
        except (NotFound, Refused):
            return []
        return [event for page in pages for event in page.data if event.get("created_at")]


def person(who: Row, *, trusted: bool) -> Person:
    return Person(who["login"] or "somebody", email_of(who), trusted=trusted)


def find_edit(authorization: Row) -> Edit | None:
    edit = authorization["edit"]
    if not edit:
        return None
    by = person(edit["by"], trusted=False)
    return Edit(edit["id"], by, edit["title"], edit["body"], original_known=authorization["known"])


def _history(
    labelled: Sequence[WordingChange], renames: Sequence[WordingChange], edit: WordingChange | None
) -> EditHistory | None:
    """Changes since the label was last applied; the same second counts as after it."""
    labelling = max(labelled, key=lambda change: change.at, default=None)
    if labelling is None:
        return None
    later = sorted((change for change in renames if change.at >= labelling.at), key=lambda change: change.at)
    return EditHistory(labelling.at, labelling.by, tuple(later), edit if edit and edit.at >= labelling.at else None)


def _explained(
    name: str, row: Row, pinned: Row | None, history: EditHistory, change: WordingChange | None
) -> WordingChange | None:
    """The change that made it differ from the pinned text. If the history is about another text, its author is unknown:
    the editor that it names may have changed these words back.
    """
    differs = pinned is not None and row[name] != pinned[name]
    if history.lags:
        return WordingChange("", NOBODY) if differs else None
    if pinned and differs and (change is None or change.at <= pinned["version"]):
        return WordingChange("", NOBODY)
    return change


def _unchanged(row: Row) -> Row:
    return {"title": row["title"], "body": row["body"], "known": True, "edit": None}


def _digest(row: Row) -> str:
    return sha256(f"{row['title']}\0{row['body']}".encode(errors="surrogatepass")).hexdigest()[:16]
