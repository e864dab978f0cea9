"""Errors for GitHub's refusals. Rule: the only place where a status becomes an error."""

import re
from collections.abc import Collection

from bot.errors import BotError, NeedsHuman, RateLimited, Retryable
from bot.services.github.rate_limit_detection import find_limit, message_in
from bot.services.http.credential_lockout import Unauthorized
from bot.services.http.service_reply import ServiceReply, no_answer


class NotFound(NeedsHuman):
    """GitHub has no such thing, or does not show it to us."""

    def __init__(self, message: str = "", *, status: int = 404) -> None:
        super().__init__(*([message] if message else []))
        self.status = status


class Refused(NeedsHuman):
    """GitHub understood the request and refused it."""

    def __init__(self, message: str = "", *, status: int = 422) -> None:
        super().__init__(*([message] if message else []))
        self.status = status


class Archived(Refused):
    """The repository is archived: it can only be read."""


class Locked(Refused):
    """The conversation is locked."""


class Forbidden(Refused):
    """Our credential lacks a permission."""


class NotTold(Retryable):
    """GitHub does not return a person's permission at the moment."""


class NoGraphQL(Retryable):
    """This server does not answer that query."""


_SECRET = re.compile(
    r"\b(?:gh[a-z]_\w{8,}|github_pat_\w{8,}|v1\.[0-9a-f]{40})|(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]+|(?<=//)[^/@\s]+(?=@)"
)


def status_to_error(reply: ServiceReply, *, request: str, writing: bool, wait: float = 0) -> BotError:
    """`request` names the request; `wait` is the seconds until the next request is allowed."""
    reason = f"{message_in(reply) or 'no reason given'} (HTTP {reply.status} to {request})"
    if find_limit(reply) or (wait > 0 and reply.status >= 500 and not writing):
        return RateLimited(f"GitHub asked Treehand to wait {wait:.0f} s: {reason}", retry_after=wait)
    match reply.status:
        case 401:
            return Unauthorized(f"GitHub rejects the token: {reason}")
        case 404 | 410 | 451:
            return NotFound(f'GitHub returned "not found" for this request: {reason}', status=reply.status)
        case 403:
            return _forbidden(reply, reason)
        case 408:
            return no_answer(f"GitHub did not answer in time: {reason}", writing=writing)
        case status if status >= 500:
            return no_answer(f"GitHub failed: {reason}", writing=writing)
        case status:
            return Refused(f"GitHub refused the request: {reason}", status=status)


def not_there(key: str, gone: NotFound) -> str:
    """GitHub answers the same if the thing was deleted, and if the token may not write there."""
    return f"{key} was deleted, or the token may not write there: {gone}"


def redacted(text: str, secrets: Collection[str] = ()) -> str:
    """The text without credentials: a server may repeat them in its message."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return _SECRET.sub("[secret]", text)


def _forbidden(reply: ServiceReply, reason: str) -> Refused:
    words = set(re.findall(r"\w+", message_in(reply).lower()))
    if "archived" in words:
        return Archived(f"The repository is archived: {reason}", status=403)
    if words & {"locked", "lock"}:
        return Locked(f"The conversation is locked: {reason}", status=403)
    return Forbidden(f"The token has no permission for this request: {reason}{_missing_permission(reply)}", status=403)


def _missing_permission(reply: ServiceReply) -> str:
    """GitHub names the permission in its headers."""
    permissions = reply.headers.get("x-accepted-github-permissions", "")
    scopes = reply.headers.get("x-accepted-oauth-scopes", "")
    needed = permissions or scopes
    return f"; it needs {'the permission' if permissions else 'one of the scopes'} {needed}" if needed else ""
