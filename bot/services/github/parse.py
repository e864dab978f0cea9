"""Parses GitHub's payloads into the records of the cache. Pure."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bot.errors import Retryable
from bot.services.github.cache import Row

Payload = Mapping[str, Any]

NOBODY: Row = {"login": "", "id": 0}
"""A deleted account, or one that GitHub does not name."""


def parse_issue(payload: Payload) -> Row:
    return {
        "number": payload["number"],
        "node": payload.get("node_id") or "",
        "title": payload.get("title") or "",
        "body": payload.get("body") or "",
        "open": payload.get("state") == "open",
        "labels": sorted(parse_labels(payload.get("labels") or ())),
        "author": parse_author(payload.get("user")),
        "created": payload.get("created_at") or "",
        "updated": payload.get("updated_at") or "",
        "url": payload.get("html_url") or "",
        "comments": payload.get("comments"),
        "home": (payload.get("repository_url") or "").partition("/repos/")[2],
    }


def parse_labels(payload: Any) -> set[str]:
    """Raises TypeError or KeyError for anything but labels: a run ends if its label seems to be gone."""
    if not isinstance(payload, list | tuple):
        raise TypeError(f"not a list of labels: {payload!r:.50}")
    return {str(label if isinstance(label, str) else label["name"]) for label in payload}


def parse_comment(payload: Payload) -> Row:
    return {
        "id": payload["id"],
        "node": payload.get("node_id") or "",
        "number": _last_number(payload.get("issue_url")),
        "body": payload.get("body") or "",
        "author": parse_author(payload.get("user")),
        "created": payload.get("created_at") or "",
        "updated": payload.get("updated_at") or payload.get("created_at") or "",
    }


def parse_remark(payload: Payload) -> Row:
    return {
        "id": payload["id"],
        "node": payload.get("node_id") or "",
        "number": _last_number(payload.get("pull_request_url")),
        "review": payload.get("pull_request_review_id") or 0,
        "thread": payload.get("in_reply_to_id") or 0,
        "body": payload.get("body") or "",
        "author": parse_author(payload.get("user")),
        "created": payload.get("created_at") or "",
        "updated": payload.get("updated_at") or payload.get("created_at") or "",
        "path": payload.get("path") or "",
        "line": payload.get("line") or payload.get("original_line") or 0,
        "hunk": payload.get("diff_hunk") or "",
    }


def parse_review(payload: Payload, number: int) -> Row:
    return {
        "id": payload["id"],
        "number": number,
        "node": payload.get("node_id") or "",
        "body": payload.get("body") or "",
        "author": parse_author(payload.get("user")),
        "state": str(payload.get("state") or "").upper(),
        "created": payload.get("submitted_at") or "",
    }


def parse_pull(payload: Payload) -> Row:
    head, base = payload.get("head") or {}, payload.get("base") or {}
    return {
        "number": payload["number"],
        "node": payload.get("node_id") or "",
        "title": payload.get("title") or "",
        "body": payload.get("body") or "",
        "author": parse_author(payload.get("user")),
        "open": payload.get("state") == "open",
        "draft": bool(payload.get("draft")),
        "merged": bool(payload.get("merged_at") or payload.get("merged")),
        "branch": head.get("ref") or "",
        "head": head.get("sha") or "",
        "home": (head.get("repo") or {}).get("full_name") or "",
        "base": base.get("ref") or "",
        "onto": base.get("sha") or "",
        "into": (base.get("repo") or {}).get("full_name") or "",
        "updated": payload.get("updated_at") or "",
        "url": payload.get("html_url") or "",
    }


def parse_author(payload: Any) -> Row:
    """A deleted account has no login."""
    if not payload:
        return NOBODY
    return {"login": payload.get("login") or "", "id": payload.get("id") or payload.get("databaseId") or 0}


def parse_actor(payload: Any) -> Row:
    """A person or an App as GraphQL gives them. Every other actor, such as a deleted account, has no login."""
    who = parse_author(payload)
    match (payload or {}).get("__typename"):
        case "User":
            return who
        case "Bot":
            return {**who, "login": f"{who['login'].removesuffix('[bot]')}[bot]"}  # the login that REST gives
        case _:
            return NOBODY


def is_same_text(one: str, other: str) -> bool:
    """Two answers of GitHub's may differ in line ends."""
    return one.split() == other.split()


def email_of(author: Row) -> str:
    """The address that GitHub provides for commits; empty for a deleted account."""
    return f"{author['id']}+{author['login']}@users.noreply.github.com" if author["id"] else ""


_UNEXPECTED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, sqlite3.Error)


@contextmanager
def expected_shapes() -> Iterator[None]:
    """Raises Retryable if a payload in it has another shape, or cannot be stored."""
    try:
        yield
    except _UNEXPECTED as exc:
        raise Retryable(f"GitHub's answer has an unexpected form: {exc!r}.") from exc


def _last_number(url: str | None) -> int:
    tail = (url or "").rpartition("/")[2]
    return int(tail) if tail.isdigit() else 0
