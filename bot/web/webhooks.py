"""Webhooks: reads what a service sends, has the service verify it, and wakes the daemon.

Rule: a webhook wakes the daemon, and does nothing else.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.domain.webhook import WebhookAnswer
from bot.system.clock import Clock
from bot.web.browser_guard import SIGNED
from bot.web.request_body import read_content

MOST_BYTES = 5 * 1024 * 1024
"""GitHub sends more only about pushes with thousands of commits, which the next poll finds."""
_SIGNATURE = re.compile(r"(?:sha256=)?[0-9a-f]{64}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Webhook:
    """The webhook of one service."""

    secret: str
    signature_header: str
    parse: Callable[[str, Mapping[str, str], bytes, float], WebhookAnswer]
    """Called with the secret, the headers, the body and the time."""
    wake: Callable[[str], None]
    """Called with the repository that changed; empty: any project of the service."""


def webhook_route(name: str, webhook: Webhook, clock: Clock) -> Route:
    async def receive(request: Request) -> Response:
        return await _receive(name, webhook, request, clock())

    return Route(f"{SIGNED}{name}", receive, methods=["POST"])


async def _receive(name: str, webhook: Webhook, request: Request, now: float) -> Response:
    if not webhook.secret:
        text = f"No webhook secret is set. Set TREEHAND_{name.upper()}__WEBHOOK_SECRET and restart Treehand.\n"
        return PlainTextResponse(text, status_code=503)
    if not _SIGNATURE.fullmatch(request.headers.get(webhook.signature_header, "").strip()):
        return PlainTextResponse("A signature is missing.\n", status_code=401)  # the body is not even read
    body = await read_content(request, MOST_BYTES)
    answer = webhook.parse(webhook.secret, request.headers, body, now)
    if answer.repository is not None:
        webhook.wake(answer.repository)
    return PlainTextResponse(answer.text, status_code=answer.status)
