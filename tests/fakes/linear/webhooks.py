"""Webhook deliveries: the raw body and the signed headers."""

import hashlib
import hmac
import json
import uuid
from collections.abc import Mapping
from typing import Any

from tests.fakes.linear.clock import iso, milliseconds
from tests.fakes.linear.world import LinearWorld


def delivery(
    world: LinearWorld,
    kind: str,
    action: str,
    data: Mapping[str, Any],
    *,
    secret: str,
    at: float | None = None,
    updated_from: Mapping[str, Any] | None = None,
) -> tuple[bytes, dict[str, str]]:
    sent = world.now if at is None else at
    told: dict[str, Any] = {"action": action, "actor": None, "createdAt": iso(sent), "data": dict(data)}
    if updated_from is not None:
        told["updatedFrom"] = dict(updated_from)
    told |= {"url": f"https://linear.app/{world.url_key}", "type": kind, "organizationId": world.organization_id}
    told |= {"webhookTimestamp": milliseconds(sent), "webhookId": str(uuid.uuid4())}
    body = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    return body, {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "Linear-Webhook",
        "Linear-Delivery": str(uuid.uuid4()),
        "Linear-Event": kind,
        "Linear-Timestamp": str(milliseconds(sent)),
        "Linear-Signature": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
    }
