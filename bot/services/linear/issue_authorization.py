"""Authorization of an issue: its requester, and the title and body as they were requested, without edits by others.

Pure. Linear names the author of an edit of the description, but not the text before it: the text is kept as we first
saw it requested. A change that the history does not explain counts as an edit by a person without permission.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bot.domain.issue import Edit, Person
from bot.services.linear.cache import Row
from bot.services.linear.parse import NO_PERSON

HISTORY_SECONDS = 240.0
"""Linear begins to show the history of an issue about three minutes after its creation."""
UNSETTLED = "waiting until Linear reports who requested this issue and who wrote it: up to 4 minutes after its creation"

MaySteer = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class WordingChange:
    at: str
    by: Sequence[Row]
    before: str = ""


def authorize(row: Row, known: Row | None, labels: Collection[str], may_steer: MaySteer, *, active: bool) -> Row:
    """`labels`: ids of the label that requests work; `active`: a run exists already."""
    at, since, by = _find_request(row, labels)
    request = f"{at} {by['id']}"
    fresh = {"request": request, "at": at, "since": since, "by": by, "trusted": may_steer(by), "state": row["state"]}
    pinned = known if known and known["trusted"] and (active or known["request"] == request) else None
    if pinned:
        fresh = {name: pinned[name] for name in fresh}
    words = _usable_words(row, pinned, str(fresh["since"]), may_steer) if fresh["trusted"] else _unchanged(row)
    return {**fresh, **words, "words": [row["title"], row["body"]], "version": row["updated"], "unvouched": ""}


def authorize_again(row: Row, known: Row, people: Mapping[str, Row], may_steer: MaySteer) -> Row:
    """The same request, by what its requester and its editors may do now."""

    def may_now(who: Row) -> bool:
        return may_steer(people.get(who["id"], who))

    trusted = may_now(known["by"])
    # an edit that people are asked about keeps the earlier text
    words = _usable_words(row, None, str(known["since"]), may_now) if trusted and not known["edit"] else {}
    return {**known, "trusted": trusted, "withdrawn": not trusted, **words}


def people_of(row: Row, known: Row) -> Collection[str]:
    """Ids of everybody whose permission the request and its text rely on."""
    changes = [step for step in row["steps"] if step["described"] or step["from_title"] is not None]
    people = [known["by"], *(who for step in changes for who in (step["who"], *step["described_by"]))]
    return {who["id"] for who in people if who["id"]}


def is_settled(row: Row, seconds_after_creation: float) -> bool:
    """Returns False while the history may lack changes: until then the requester and the author are unknown."""
    known_until = max([row["created"], *(step["at"] for step in row["steps"])])
    return bool(row["updated"] <= known_until) or seconds_after_creation >= HISTORY_SECONDS


def person(who: Row, *, trusted: bool) -> Person:
    return Person(who["name"], who["email"], trusted=trusted)


def find_edit(authorization: Row) -> Edit | None:
    edit = authorization["edit"]
    if not edit:
        return None
    by = person(edit["by"], trusted=False)
    return Edit(edit["id"], by, edit["title"], edit["body"], original_known=authorization["known"])


def is_unexplained(authorization: Row) -> bool:
    """The history may lag behind, and name the author of an edit later."""
    return bool(authorization["edit"] and not authorization["edit"]["by"]["id"])


def _find_request(row: Row, labels: Collection[str]) -> tuple[str, str, Row]:
    """Latest and earliest time at which the label was added last, and the person who did it.

    An issue created with the label is requested by its creator.
    """
    applied = [step for step in row["steps"] if set(labels) & set(step["added"])]
    if not applied:
        return row["created"], row["created"], row["creator"]
    return applied[-1]["at"], applied[-1]["began"], applied[-1]["who"]


def _usable_words(row: Row, pinned: Row | None, since: str, may_steer: MaySteer) -> Mapping[str, Any]:
    """Title and body that may be used, and the edit that may not."""
    later = [step for step in row["steps"] if step["at"] >= since]
    renames = [
        WordingChange(step["at"], (step["who"],), step["from_title"])
        for step in later
        if step["from_title"] is not None
    ]
    edits = [
        WordingChange(step["at"], tuple(step["described_by"] or [step["who"]])) for step in later if step["described"]
    ]
    changes = (_latest("title", row, pinned, renames), _latest("body", row, pinned, edits))
    renamed, edited = (change if change and not _is_trusted(change, may_steer) else None for change in changes)
    if not (renamed or edited):
        return _unchanged(row)
    kept = pinned or {"title": _trusted_title(row["title"], renames, may_steer), "body": "", "known": False}
    title = kept["title"] if renamed else row["title"]
    body, known = (kept["body"], kept["known"]) if edited else (row["body"], True)
    if known and (title, body) == (row["title"], row["body"]):
        return _unchanged(row)
    untrusted = edited or renamed
    assert untrusted
    by = next(author for author in untrusted.by if not may_steer(author))
    edit = {"id": _digest(row), "by": by, "title": row["title"], "body": row["body"]}
    return {"title": title, "body": body, "known": known, "edit": edit}


def _latest(name: str, row: Row, pinned: Row | None, changes: Sequence[WordingChange]) -> WordingChange | None:
    """The last change. If the text differs from the pinned one and no change explains it, the author is unknown."""
    latest = changes[-1] if changes else None
    was = dict(zip(("title", "body"), pinned["words"], strict=True))[name] if pinned else row[name]
    if pinned and row[name] != was and (latest is None or latest.at <= pinned["version"]):
        return WordingChange("", (NO_PERSON,))
    return latest


def _is_trusted(change: WordingChange, may_steer: MaySteer) -> bool:
    return all(may_steer(author) for author in change.by)


def _trusted_title(title: str, renames: Sequence[WordingChange], may_steer: MaySteer) -> str:
    """The title before edits by people without permission."""
    for change in reversed(renames):
        if _is_trusted(change, may_steer):
            break
        title = change.before
    return title


def _unchanged(row: Row) -> Mapping[str, Any]:
    return {"title": row["title"], "body": row["body"], "known": True, "edit": None}


def _digest(row: Row) -> str:
    return sha256(f"{row['title']}\0{row['body']}".encode(errors="surrogatepass")).hexdigest()[:16]
