"""Webhooks: a service says that something changed. They are checked, they wake, and that is all they do."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from urllib.parse import parse_qs

MOST_BYTES = 25 * 1024 * 1024
"""What GitHub sends at most."""
_MOST_SECONDS_OLD = 60.0


def is_signed_by_github(secret: str, body: bytes, signature: str) -> bool:
    """`X-Hub-Signature-256`, compared in constant time."""
    made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"sha256={made}".encode(), signature.encode(errors="replace"))


def is_signed_by_linear(secret: str, body: bytes, signature: str) -> bool:
    """`Linear-Signature`, compared in constant time."""
    made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(made.encode(), signature.strip().lower().encode(errors="replace"))


def is_of_now(body: bytes, now: float) -> bool:
    """By the time that is signed along: what somebody has kept for longer wakes nobody. Raises ValueError."""
    told = json.loads(body.decode())
    sent = told.get("webhookTimestamp") if isinstance(told, Mapping) else None
    if isinstance(sent, bool) or not isinstance(sent, int | float):
        raise ValueError("no time")  # noqa: TRY004 - to whoever sent it, that is one and the same
    return abs(now - sent / 1000) <= _MOST_SECONDS_OLD


def parse_repository(body: bytes, content_type: str) -> str:
    """`owner/name`; empty when it is about none. Raises ValueError when it makes no sense."""
    text = body.decode()
    if content_type.startswith("application/x-www-form-urlencoded"):
        text = "".join(parse_qs(text).get("payload", []))
    told = json.loads(text)
    if not isinstance(told, Mapping):
        raise ValueError("not an object")  # noqa: TRY004 - to whoever sent it, that is one and the same
    repository = told.get("repository")
    name = repository.get("full_name") if isinstance(repository, Mapping) else ""
    return name if isinstance(name, str) else ""
