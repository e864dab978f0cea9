"""GitHub webhooks: checks the signature and finds the repository that changed."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from urllib.parse import parse_qs

from bot.domain.webhook import WebhookAnswer


def parse_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> WebhookAnswer:
    if not is_signed(secret, body, headers.get("x-hub-signature-256", "")):
        return WebhookAnswer(401, "The signature is invalid. Check that both sides use the same secret.\n")
    try:
        repository = parse_repository(body, headers.get("content-type", ""))
    except (ValueError, RecursionError):
        return WebhookAnswer(400, "The body is not valid JSON.\n")
    return WebhookAnswer(202, "looking\n", repository or None)


def is_signed(secret: str, body: bytes, signature: str) -> bool:
    """`X-Hub-Signature-256`, compared in constant time."""
    made = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"sha256={made}".encode(), signature.encode(errors="replace"))


def parse_repository(body: bytes, content_type: str) -> str:
    """`owner/name`; empty if it names none. Raises ValueError on malformed content."""
    text = body.decode()
    if content_type.startswith("application/x-www-form-urlencoded"):
        text = "".join(parse_qs(text).get("payload", []))
    payload = json.loads(text)
    if not isinstance(payload, Mapping):
        raise ValueError("not an object")  # noqa: TRY004 - the sender gets the same answer for both
    repository = payload.get("repository")
    name = repository.get("full_name") if isinstance(repository, Mapping) else ""
    return name if isinstance(name, str) else ""
