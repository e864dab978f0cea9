"""Recognizes in an answer of GitHub that a primary or secondary rate limit was hit.

https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

import re
from collections.abc import Collection
from enum import StrEnum

from bot.services.http.service_reply import ServiceReply

_QUERY_LIMITED = re.compile(r'"type"\s*:\s*"RATE_LIMITED"')  # in text that people write, the quotes would be escaped
_PRIMARY_WORDS = ("api rate limit exceeded", "rate limit exceeded for")
_SECONDARY_WORDS = ("secondary rate limit", "abuse detection", "submitted too quickly", "too many requests")


class RateLimitKind(StrEnum):
    PRIMARY = "primary"
    """Requests per hour, counted per resource."""
    SECONDARY = "secondary"
    """Too many requests at once or too much content, for the account."""


def find_limit(reply: ServiceReply) -> RateLimitKind | None:
    """Reads the message as well as the headers: the headers are often missing."""
    if reply.status == 200 and _QUERY_LIMITED.search(reply.text):
        return RateLimitKind.PRIMARY
    if reply.status not in {403, 422, 429}:
        return None
    message = message_in(reply).lower()
    if _has_any(message, _SECONDARY_WORDS):
        return RateLimitKind.SECONDARY
    if reply.status != 422 and (reply.headers.get("x-ratelimit-remaining") == "0" or _has_any(message, _PRIMARY_WORDS)):
        return RateLimitKind.PRIMARY
    if reply.status == 429 or (reply.status == 403 and "retry-after" in reply.headers):
        return RateLimitKind.SECONDARY
    return None


def _has_any(message: str, words: Collection[str]) -> bool:
    return any(word in message for word in words)


def message_in(reply: ServiceReply) -> str:
    """GitHub's message with its details; empty if it gives none."""
    fields = reply.fields
    details = fields.get("errors")
    words = [str(fields.get("message") or "")]
    words += [_detail(item) for item in details] if isinstance(details, list) else []
    return ": ".join(word for word in words if word)


def _detail(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return str(item.get("message") or " ".join(str(item[name]) for name in ("field", "code") if item.get(name)))
