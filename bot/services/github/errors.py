"""What a refusal of GitHub means for us. The one place where a status becomes an error."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bot.errors import BotError, NeedsHuman, RateLimited, Retryable
from bot.services.http.credential_lockout import Unauthorized


class NotFound(NeedsHuman):
    """GitHub has no such thing, or does not show it to us."""

    def __init__(self, message: str = "", *, status: int = 404) -> None:
        super().__init__(*([message] if message else []))
        self.status = status


class Refused(NeedsHuman):
    """GitHub understood and said no."""

    def __init__(self, message: str = "", *, status: int = 422) -> None:
        super().__init__(*([message] if message else []))
        self.status = status


class Archived(Refused):
    """The repository is archived: it can only be read."""


class Locked(Refused):
    """The conversation is locked."""


class Forbidden(Refused):
    """Our credential lacks a permission."""


class Unknown(Retryable):
    """No answer came to a write: it may have been done or not."""


class NoGraphQL(Retryable):
    """This server does not answer that query."""


class Limit(StrEnum):
    """Which limit we met."""

    PRIMARY = "primary"
    SECONDARY = "secondary"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came over the wire."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    text: str = ""

    @property
    def message(self) -> str:
        """What GitHub gives as the reason, its details included."""
        try:
            said = json.loads(self.text)
        except ValueError:
            return ""
        if not isinstance(said, dict):
            return ""
        details = said.get("errors")
        words = [str(said.get("message") or "")]
        words += [_detail(item) for item in details] if isinstance(details, list) else []
        return ": ".join(word for word in words if word)


_SECRET = re.compile(
    r"\b(?:gh[a-z]_\w{8,}|github_pat_\w{8,}|eyJ[\w-]+\.[\w-]+\.[\w-]+|v1\.[0-9a-f]{40})|(?<=//)[^/@\s]+(?=@)"
)
_QUERY_LIMITED = re.compile(r'"type"\s*:\s*"RATE_LIMITED"')  # in what people write, the marks would be escaped
_PRIMARY_WORDS = ("api rate limit exceeded", "rate limit exceeded for")
_SECONDARY_WORDS = ("secondary rate limit", "abuse detection", "submitted too quickly", "too many requests")


def limit_in(reply: Reply) -> Limit | None:
    """Told by its words as well as by its headers: the headers are often missing.

    https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
    """
    if reply.status == 200 and _QUERY_LIMITED.search(reply.text):
        return Limit.PRIMARY
    if reply.status not in {403, 422, 429}:
        return None
    said = reply.message.lower()
    if any(words in said for words in _SECONDARY_WORDS):
        return Limit.SECONDARY
    if reply.status != 422 and (reply.headers.get("x-ratelimit-remaining") == "0" or _has(said, _PRIMARY_WORDS)):
        return Limit.PRIMARY
    if reply.status == 429 or (reply.status == 403 and "retry-after" in reply.headers):
        return Limit.SECONDARY
    return None


def status_to_error(reply: Reply, *, asked: str, writing: bool, wait: float = 0) -> BotError:
    """`asked` is the request in a few words; `wait`, the seconds until we may ask again."""
    said = f"{reply.message or 'no reason given'} (HTTP {reply.status} to {asked})"
    if limit_in(reply) or (wait > 0 and reply.status >= 500 and not writing):
        return RateLimited(f"GitHub asks me to wait {wait:.0f} s: {said}", retry_after=wait)
    match reply.status:
        case 401:
            return Unauthorized(f"GitHub refuses our token: {said}")
        case 404 | 410 | 451:
            return NotFound(f"GitHub does not show it: {said}", status=reply.status)
        case 403:
            return _forbidden(reply, said)
        case 408:
            return _no_answer(f"GitHub did not answer in time: {said}", writing=writing)
        case status if status >= 500:
            return _no_answer(f"GitHub has trouble: {said}", writing=writing)
        case status:
            return Refused(f"GitHub refused: {said}", status=status)


def no_answer(why: str, *, asked: str, writing: bool) -> Retryable:
    """Nothing, or nothing that can be read, came back."""
    return _no_answer(f"{why} ({asked})", writing=writing)


def redacted(text: str, secrets: Collection[str] = ()) -> str:
    """Whatever others put into their words, no credential gets into ours."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return _SECRET.sub("[secret]", text)


def _no_answer(text: str, *, writing: bool) -> Retryable:
    return Unknown(f"{text}. It may have been done all the same.") if writing else Retryable(text)


def _forbidden(reply: Reply, said: str) -> Refused:
    words = set(re.findall(r"\w+", reply.message.lower()))
    if "archived" in words:
        return Archived(f"The repository is archived: {said}", status=403)
    if words & {"locked", "lock"}:
        return Locked(f"The conversation is locked: {said}", status=403)
    return Forbidden(f"Our token may not do this: {said}{_needed(reply)}", status=403)


def _needed(reply: Reply) -> str:
    """GitHub says what would have been enough."""
    permissions = reply.headers.get("x-accepted-github-permissions", "")
    scopes = reply.headers.get("x-accepted-oauth-scopes", "")
    needed = permissions or scopes
    return f"; it needs {'the permission' if permissions else 'one of the scopes'} {needed}" if needed else ""


def _detail(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return str(item.get("message") or " ".join(str(item[name]) for name in ("field", "code") if item.get(name)))


def _has(said: str, words: Collection[str]) -> bool:
    return any(word in said for word in words)
