"""Parses Linear's payloads into the records of the cache. Pure."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

from bot.errors import Retryable
from bot.services.linear.cache import Row

Payload: TypeAlias = Mapping[str, Any]

CLOSED = frozenset({"completed", "canceled", "duplicate"})
"""Types of workflow states that end an issue."""
NO_PERSON: Row = {"id": "", "name": "somebody", "email": "", "guest": True, "app": False, "active": False}
"""Author of changes by an integration, by an automation, or from outside the workspace."""


@contextmanager
def expected_shapes() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as exc:
        raise Retryable(f"Linear sent an unexpected answer ({type(exc).__name__}: {exc}).") from exc


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"not a string: {value!r:.50}")
    return value


def time(value: Any) -> str:
    """In one form, so that times compare as strings."""
    at = datetime.fromisoformat(text(value)).astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def parse_issue(node: Payload) -> Row:
    state, blockers = node["state"], [link["issue"] for link in node["inverseRelations"]["nodes"] if _blocks(link)]
    return {
        "id": text(node["id"]),
        "identifier": text(node["identifier"]),
        "title": text(node["title"]),
        "body": text(node["description"] or ""),
        "priority": int(node["priority"] or 0),
        "url": text(node["url"]),
        "created": time(node["createdAt"]),
        "updated": time(node["updatedAt"]),
        "away": bool(node["archivedAt"] or node["trashed"]),
        "open": state["type"] not in CLOSED and not (node["archivedAt"] or node["trashed"]),
        "in_team": text(node["team"]["id"]),
        "state": text(state["id"]),
        "creator": parse_person(node["creator"]),
        "linear_project": (node["project"] or {}).get("name", ""),
        "parent": (node["parent"] or {}).get("identifier", ""),
        "parts": [child["identifier"] for child in node["children"]["nodes"] if child["state"]["type"] not in CLOSED],
        "blocked_by": [text(issue["identifier"]) for issue in blockers],
        "blockers": [text(issue["id"]) for issue in blockers],
        "labels": [{"id": text(label["id"]), "names": label_names(label)} for label in node["labels"]["nodes"]],
        "links": [text(attachment["url"]) for attachment in node["attachments"]["nodes"]],
    }


def label_names(node: Payload) -> list[str]:
    """A label in a group also has the name `group:name`."""
    group = (node.get("parent") or {}).get("name")
    name = text(node["name"])
    return [name, *([f"{group}:{name}"] if group else [])]


def _blocks(relation: Payload) -> bool:
    other = relation["issue"]
    return bool(relation["type"] == "blocks" and other["state"]["type"] not in CLOSED and not other["archivedAt"])


def parse_person(node: Payload | None) -> Row:
    if not node:
        return NO_PERSON
    return {
        "id": text(node["id"]),
        "name": text(node["displayName"] or node["name"] or "somebody"),
        "email": text(node["email"] or "").lower(),
        "guest": bool(node["guest"]),
        "app": bool(node["app"]),
        "active": bool(node["active"]),
    }


def parse_step(node: Payload) -> Row:
    """One entry of an issue's history. Linear adds to an entry for a while: its last time counts."""
    return {
        "began": time(node["createdAt"]),
        "at": max(time(node["createdAt"]), time(node["updatedAt"])),
        "who": parse_person(node["actor"]),
        "added": node["addedLabelIds"] or [label["id"] for label in node["addedLabels"] or ()],
        "from_state": _id_of(node, "fromState"),
        "to_state": _id_of(node, "toState"),
        "from_title": node["fromTitle"],
        "described": bool(node["updatedDescription"]),
        "described_by": [parse_person(author) for author in node["descriptionUpdatedBy"] or () if author],
    }


def _id_of(node: Payload, name: str) -> str:
    """Reads `nameId` or `name.id`: a server may fill in only one of them."""
    return str(node[f"{name}Id"] or (node[name] or {}).get("id") or "")


def parse_comment(node: Payload) -> Row:
    return {
        "id": text(node["id"]),
        "issue": text(_id_of(node, "issue")),
        "body": text(node["body"] or ""),
        "created": time(node["createdAt"]),
        "updated": time(node["updatedAt"]),
        "version": time(node["editedAt"] or node["createdAt"]),
        "thread": _id_of(node, "parent"),
        "author": parse_person(node["user"]),
    }
