"""Errors for Linear's refusals. Rule: the only place where an answer becomes an error.

Linear refuses with a status of its own, with 400, or with 200 and errors: the errors' own types and codes count.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.errors import BotError, NeedsHuman, RateLimited
from bot.services.http.credential_lockout import Unauthorized
from bot.services.http.service_reply import ServiceReply, no_answer


class Refused(NeedsHuman):
    """Linear understood the request and refused it: asking again cannot help."""


class Forbidden(Refused):
    """The key has no permission for this request."""


class NotFound(Refused):
    """Linear has no such object, or the key may not see it."""


_SECRET = re.compile(r"\blin_(?:api|oauth)_\w{6,}")
_LIMIT, _KEY, _PERMISSION, _GONE, _INVALID, _TROUBLE = "limit", "key", "permission", "gone", "invalid", "trouble"
_BY_STATUS = {401: _KEY, 403: _PERMISSION, 404: _TROUBLE, 408: _TROUBLE, 429: _LIMIT}
"""A 404 does not mean that a thing is missing: it comes from a proxy on the way."""
_BY_NAME = {
    _LIMIT: {"ratelimited", "rate limited", "rate limit exceeded"},
    _KEY: {"authentication error", "unauthenticated"},
    _PERMISSION: {"forbidden", "feature not accessible"},
    _GONE: {"entity not found", "not found"},
    _INVALID: {
        "invalid input", "input error", "user error", "usage limit exceeded", "graphql error", "bad user input",
        "graphql validation failed", "graphql parse failed",
    },
    _TROUBLE: {"internal error", "internal server error", "lock timeout", "network error"},
}  # fmt: skip
_EXISTS_WORDS = ("conflict on insert", "already exists", "duplicate")
_GONE_WORDS = ("entity not found", "could not find referenced")


def error_in(reply: ServiceReply, *, request: str, writing: bool, wait: float = 0.0) -> BotError | None:
    """Returns None for an answer without errors. `wait`: seconds until the next request is allowed."""
    errors = _errors(reply)
    if reply.status < 300 and not errors and isinstance(reply.fields.get("data"), dict):
        return None
    words = redacted("; ".join(_describe(error) for error in errors) or f"HTTP {reply.status}")
    reason = f"{words} ({request})"
    match _kind(reply, errors):
        case "limit":
            return RateLimited(f"Linear asked Treehand to wait {wait:.0f} s: {reason}", retry_after=wait)
        case "key":
            return Unauthorized(f"Linear rejects the key: {reason}")
        case "permission":
            return Forbidden(f"The key has no permission for this request: {reason}")
        case "gone":
            return NotFound(f'Linear returned "not found" for this request: {reason}')
        case "invalid":
            return Refused(f"Linear refused the request: {reason}")
        case _:
            return no_answer(f"Linear failed: {words}", request=request, writing=writing)


def is_limit(reply: ServiceReply) -> bool:
    errors = _errors(reply)
    return (reply.status >= 300 or bool(errors)) and _kind(reply, errors) == _LIMIT


def is_there_already(refusal: Refused) -> bool:
    """Returns True if nothing was created because it exists already."""
    return any(words in str(refusal).lower() for words in _EXISTS_WORDS)


def redacted(text: str) -> str:
    return _SECRET.sub("[secret]", text)


def _errors(reply: ServiceReply) -> Sequence[Mapping[str, Any]]:
    errors = reply.fields.get("errors")
    return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def _kind(reply: ServiceReply, errors: Sequence[Mapping[str, Any]]) -> str:
    """The gravest kind among the errors; without one, the status decides."""
    kinds = {kind for error in errors if (kind := _kind_of(error))}
    gravest = next((kind for kind in (_LIMIT, _KEY, _PERMISSION, _GONE, _INVALID, _TROUBLE) if kind in kinds), "")
    return gravest or _BY_STATUS.get(reply.status, _INVALID if 400 <= reply.status < 500 else _TROUBLE)


def _kind_of(error: Mapping[str, Any]) -> str:
    extensions = error.get("extensions")
    extensions = extensions if isinstance(extensions, dict) else {}
    names = {str(extensions.get(name, "")).lower().replace("_", " ") for name in ("type", "code")}
    message = f"{error.get('message', '')} {extensions.get('userPresentableMessage', '')}".lower()
    if any(words in message for words in _GONE_WORDS) and not names & _BY_NAME[_KEY]:
        return _GONE
    named = next((kind for kind, known in _BY_NAME.items() if names & known), "")
    return named or (_INVALID if extensions.get("userError") is True else "")


def _describe(error: Mapping[str, Any]) -> str:
    extensions = error.get("extensions")
    shown = extensions.get("userPresentableMessage") if isinstance(extensions, dict) else ""
    message = str(error.get("message") or "no reason given")
    return f"{message}: {shown}" if shown and shown not in message else message
