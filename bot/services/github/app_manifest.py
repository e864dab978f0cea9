"""GitHub App manifest: what a new App may do, and the exchange of GitHub's code for its key.

https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from bot.errors import NeedsHuman, Retryable
from bot.services.github.auth import PERMISSIONS

_SECONDS = 30.0
_MAX_NAME = 34
_NO_WEBHOOK = "https://treehand.example.com/webhooks/github"
"""GitHub requires an address, also for an inactive webhook."""
_EVENTS = (
    "issues",
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "check_run",
    "status",
    "push",
)
"""Sent to the webhook once somebody sets its address and activates it."""


@dataclass(frozen=True, slots=True)
class NewGitHubApp:
    """A registered App with its credentials."""

    id: int
    slug: str
    page: str
    """Its page on GitHub."""
    key: str = field(repr=False)
    webhook_secret: str = field(default="", repr=False)

    @property
    def install_page(self) -> str:
        return f"{self.page}/installations/new"


def manifest_for(name: str, *, home: str, back: str) -> Mapping[str, Any]:
    """GitHub redirects the browser to `back` after registering the App."""
    return {
        "name": name[:_MAX_NAME].rstrip("-"),
        "url": home,
        "description": "Label an issue, get a draft pull request.",
        "redirect_url": back,
        "public": False,
        "hook_attributes": {"url": _NO_WEBHOOK, "active": False},
        "default_permissions": dict(PERMISSIONS),
        "default_events": list(_EVENTS),
    }


async def exchange_code(api_url: str, code: str) -> NewGitHubApp:
    """Exchanges the code, which is valid once and for an hour, for the App's credentials."""
    try:
        async with httpx.AsyncClient(timeout=_SECONDS) as http:
            answer = await http.post(
                f"{api_url}/app-manifests/{quote(code, safe='')}/conversions",
                headers={"Accept": "application/vnd.github+json"},
            )
    except httpx.HTTPError as exc:
        raise Retryable("GitHub did not answer the request for the new App. Start again.") from exc
    if answer.status_code != httpx.codes.CREATED:
        raise NeedsHuman(
            f"GitHub rejects the code of the new App ({answer.status_code}). It may have been used: start again."
        )
    return _parse_registered(answer.json())


def _parse_registered(data: Mapping[str, Any]) -> NewGitHubApp:
    return NewGitHubApp(
        id=int(data["id"]),
        slug=str(data.get("slug") or data["id"]),
        page=str(data["html_url"]),
        key=str(data["pem"]),
        webhook_secret=str(data.get("webhook_secret") or ""),
    )
