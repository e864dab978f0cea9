"""Linear webhooks: checks the signature and the age."""

import hashlib
import hmac
import json
from collections.abc import Mapping

from bot.domain.webhook import WebhookAnswer

_MOST_SECONDS_OLD = 60.0


def parse_webhook(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> WebhookAnswer:
    if not is_signed(secret, body, headers.get("linear-signature", "")):
        return WebhookAnswer(401, "The signature is invalid. Check that both sides use the same secret.\n")
    try:
        if not is_recent(body, now):
            return WebhookAnswer(401, "The delivery is too old, or this machine's clock is wrong.\n")
    except (ValueError, RecursionError):
        return WebhookAnswer(400, "The body is not valid JSON with a time.\n")
    return WebhookAnswer(200, "looking\n", "")  # Linear takes any other status for a failure


def is_signed(secret: str, body: bytes, signature: str) -> bool:
    """`Linear-Signature`, compared in constant time."""
    made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(made.encode(), signature.strip().lower().encode(errors="replace"))


def is_recent(body: bytes, now: float) -> bool:
    """Judges the signed time, so that a replayed message has no effect. Raises ValueError."""
    payload = json.loads(body.decode())
    sent = payload.get("webhookTimestamp") if isinstance(payload, Mapping) else None
    if isinstance(sent, bool) or not isinstance(sent, int | float):
        raise ValueError("no time")  # noqa: TRY004 - the sender gets the same answer for both
    return abs(now - sent / 1000) <= _MOST_SECONDS_OLD
