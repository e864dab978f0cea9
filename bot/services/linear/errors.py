"""What an answer of Linear's that is no good means for us. The one place where it becomes an error.

Linear refuses with a status of its own, with 400, or with 200 and errors: what counts is what the errors say they are.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.errors import BotError, NeedsHuman, RateLimited, Retryable
from bot.services.http.credential_lockout import Unauthorized


class Refused(NeedsHuman):
    """Linear understood and said no: asking again cannot help."""


class Forbidden(Refused):
    """Our key may not do this."""


class NotFound(Refused):
    """Linear has no such thing, or does not show it to us."""


class Unknown(Retryable):
    """No answer came to a write: it may have been done or not."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came over the wire."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    text: str = ""

    @property
    def said(self) -> Mapping[str, Any]:
        """Empty when it is nothing that can be read."""
        try:
            said = json.loads(self.text)
        except (ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}


_SECRET = re.compile(r"\blin_(?:api|oauth)_\w{6,}")
_LIMIT, _KEY, _RIGHT, _GONE, _SENSE, _TROUBLE = "limit", "key", "right", "gone", "sense", "trouble"
_BY_STATUS = {401: _KEY, 403: _RIGHT, 404: _TROUBLE, 408: _TROUBLE, 429: _LIMIT}
"""That there is no such thing is never told by a status: 404 comes from somewhere on the way."""
_BY_NAME = {
    _LIMIT: {"ratelimited", "rate limited", "rate limit exceeded"},
    _KEY: {"authentication error", "unauthenticated"},
    _RIGHT: {"forbidden", "feature not accessible"},
    _GONE: {"entity not found", "not found"},
    _SENSE: {
        "invalid input", "input error", "user error", "usage limit exceeded", "graphql error", "bad user input",
        "graphql validation failed", "graphql parse failed",
    },
    _TROUBLE: {"internal error", "internal server error", "lock timeout", "network error"},
}  # fmt: skip
_THERE_ALREADY = ("conflict on insert", "already exists", "duplicate")
_GONE_WORDS = ("entity not found", "could not find referenced")


def error_in(reply: Reply, *, asked: str, writing: bool, wait: float = 0.0) -> BotError | None:
    """`wait`: the seconds until we may ask again. None: the answer is good as a whole."""
    errors = _errors(reply)
    if reply.status < 300 and not errors and isinstance(reply.said.get("data"), dict):
        return None
    kind = _kind(reply, errors)
    words = redacted("; ".join(_words(error) for error in errors) or f"HTTP {reply.status}")
    said = f"{words} ({asked})"
    match kind:
        case "limit":
            return RateLimited(f"Linear asks me to wait {wait:.0f} s: {said}", retry_after=wait)
        case "key":
            return Unauthorized(f"Linear refuses our key: {said}")
        case "right":
            return Forbidden(f"Our key may not do this: {said}")
        case "gone":
            return NotFound(f"Linear does not show it: {said}")
        case "sense":
            return Refused(f"Linear refused: {said}")
        case _:
            return no_answer(f"Linear has trouble: {words}", asked=asked, writing=writing)


def is_limit(reply: Reply) -> bool:
    return (reply.status >= 300 or bool(_errors(reply))) and _kind(reply, _errors(reply)) == _LIMIT


def is_there_already(refusal: Refused) -> bool:
    """It was not made because there is one."""
    return any(words in str(refusal).lower() for words in _THERE_ALREADY)


def no_answer(why: str, *, asked: str, writing: bool) -> Retryable:
    """Nothing, or nothing that can be read, came back."""
    text = f"{why} ({asked})"
    return Unknown(f"{text}. It may have been done all the same.") if writing else Retryable(text)


def redacted(text: str) -> str:
    return _SECRET.sub("[secret]", text)


def _errors(reply: Reply) -> Sequence[Mapping[str, Any]]:
    errors = reply.said.get("errors")
    return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def _kind(reply: Reply, errors: Sequence[Mapping[str, Any]]) -> str:
    """The gravest that is said; and what says nothing of itself goes by the status."""
    kinds = {kind for error in errors if (kind := _kind_of(error))}
    gravest = next((kind for kind in (_LIMIT, _KEY, _RIGHT, _GONE, _SENSE, _TROUBLE) if kind in kinds), "")
    return gravest or _BY_STATUS.get(reply.status, _SENSE if 400 <= reply.status < 500 else _TROUBLE)


def _kind_of(error: Mapping[str, Any]) -> str:
    told = error.get("extensions")
    told = told if isinstance(told, dict) else {}
    names = {str(told.get(name, "")).lower().replace("_", " ") for name in ("type", "code")}
    message = f"{error.get('message', '')} {told.get('userPresentableMessage', '')}".lower()
    if any(words in message for words in _GONE_WORDS) and not names & _BY_NAME[_KEY]:
        return _GONE
    named = next((kind for kind, known in _BY_NAME.items() if names & known), "")
    return named or (_SENSE if told.get("userError") is True else "")


def _words(error: Mapping[str, Any]) -> str:
    told = error.get("extensions")
    shown = told.get("userPresentableMessage") if isinstance(told, dict) else ""
    message = str(error.get("message") or "no reason given")
    return f"{message}: {shown}" if shown and shown not in message else message
