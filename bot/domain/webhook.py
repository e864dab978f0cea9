"""Webhook answer: what a service's message changed, and the HTTP response to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    status: int
    text: str
    repository: str | None = None
    """Repository that changed, `owner/name`; empty: any project of the service; None: nothing to wake for."""
