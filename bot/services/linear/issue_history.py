"""Whose request an issue is, and in which words: who put the label on, and who changed the words after that. Pure.

Linear tells who edited a description, but not what it said before: the words are kept as they were when we first saw
them asked for. What nothing explains was changed by nobody we know.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bot.domain.issue import Edit, Person
from bot.services.linear.cache import Row
from bot.services.linear.parse import NOBODY

MaySteer = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Change:
    at: str
    by: Sequence[Row]
    before: str = ""


def judged(row: Row, known: Row | None, labels: Collection[str], may_steer: MaySteer, *, active: bool) -> Row:
    """What is to be kept of it. `labels`: ids of the one that asks; `active`: a run answers it already."""
    at, since, by = _asked(row, labels)
    request = f"{at} {by['id']}"
    fresh = {"request": request, "at": at, "since": since, "by": by, "trusted": may_steer(by), "state": row["state"]}
    pinned = known if known and known["trusted"] and (active or known["request"] == request) else None
    if pinned:
        fresh = {name: pinned[name] for name in fresh}
    words = _words(row, pinned, str(fresh["since"]), may_steer) if fresh["trusted"] else _as_they_are(row)
    return {**fresh, **words, "words": [row["title"], row["body"]], "version": row["updated"]}


def person(who: Row, *, trusted: bool) -> Person:
    return Person(who["name"], who["email"], trusted=trusted)


def find_edit(consent: Row) -> Edit | None:
    edit = consent["edit"]
    if not edit:
        return None
    by = person(edit["by"], trusted=False)
    return Edit(edit["id"], by, edit["title"], edit["body"], original_known=consent["known"])


def is_in_doubt(consent: Row) -> bool:
    """Its history may lag behind, and explain it later."""
    return bool(consent["edit"] and not consent["edit"]["by"]["id"])


def _asked(row: Row, labels: Collection[str]) -> tuple[str, str, Row]:
    """When at the latest the label was put on last, when at the earliest, and who did.

    What was made with it was asked for by who made it.
    """
    applied = [step for step in row["steps"] if set(labels) & set(step["added"])]
    if not applied:
        return row["created"], row["created"], row["creator"]
    return applied[-1]["at"], applied[-1]["began"], applied[-1]["who"]


def _words(row: Row, pinned: Row | None, since: str, may_steer: MaySteer) -> Mapping[str, Any]:
    """Title and body that may be used, and the change that may not."""
    later = [step for step in row["steps"] if step["at"] >= since]
    renames = [
        Change(step["at"], (step["who"],), step["from_title"]) for step in later if step["from_title"] is not None
    ]
    edits = [Change(step["at"], tuple(step["described_by"] or [step["who"]])) for step in later if step["described"]]
    changes = (_latest("title", row, pinned, renames), _latest("body", row, pinned, edits))
    renamed, edited = (change if change and not _by_ours(change, may_steer) else None for change in changes)
    if not (renamed or edited):
        return _as_they_are(row)
    held = pinned or {"title": _title_before(row["title"], renames, may_steer), "body": "", "known": False}
    title = held["title"] if renamed else row["title"]
    body, known = (held["body"], held["known"]) if edited else (row["body"], True)
    if known and (title, body) == (row["title"], row["body"]):
        return _as_they_are(row)
    strange = edited or renamed
    assert strange
    by = next(who for who in strange.by if not may_steer(who))
    edit = {"id": _digest(row), "by": by, "title": row["title"], "body": row["body"]}
    return {"title": title, "body": body, "known": known, "edit": edit}


def _latest(name: str, row: Row, pinned: Row | None, changes: Sequence[Change]) -> Change | None:
    """Whoever changed it last saw what was there. If it is other than it was and nothing tells why, it was nobody."""
    latest = changes[-1] if changes else None
    was = dict(zip(("title", "body"), pinned["words"], strict=True))[name] if pinned else row[name]
    if pinned and row[name] != was and (latest is None or latest.at <= pinned["version"]):
        return Change("", (NOBODY,))
    return latest


def _by_ours(change: Change, may_steer: MaySteer) -> bool:
    return all(may_steer(who) for who in change.by)


def _title_before(title: str, renames: Sequence[Change], may_steer: MaySteer) -> str:
    """As it was before strangers changed it."""
    for change in reversed(renames):
        if _by_ours(change, may_steer):
            break
        title = change.before
    return title


def _as_they_are(row: Row) -> Mapping[str, Any]:
    return {"title": row["title"], "body": row["body"], "known": True, "edit": None}


def _digest(row: Row) -> str:
    return sha256(f"{row['title']}\0{row['body']}".encode(errors="surrogatepass")).hexdigest()[:16]
