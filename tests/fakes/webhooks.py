"""The webhooks of real services, with secrets for tests."""

from collections.abc import Callable

from bot.services.registry import SERVICES
from bot.web.webhooks import Webhook


def webhooks(wake: Callable[[str], object], **secrets: str) -> dict[str, Webhook]:
    return {
        name: Webhook(secret, SERVICES[name].webhook_signature_header, SERVICES[name].parse_webhook, wake)
        for name, secret in secrets.items()
    }
