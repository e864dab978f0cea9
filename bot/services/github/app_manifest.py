"""A GitHub App of one's own, out of a manifest that a person sends off with their browser.

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
_LONGEST_NAME = 34
_NO_WEBHOOK = "https://treehand.example.com/webhooks/github"
"""GitHub wants an address, also for one that is switched off."""
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
"""What a webhook would wake us for, once somebody gives it an address and switches it on."""


@dataclass(frozen=True, slots=True)
class Registered:
    """An App that is ours now."""

    id: int
    slug: str
    page: str
    """Where people see it, and install it."""
    key: str = field(repr=False)
    webhook_secret: str = field(default="", repr=False)

    @property
    def install_page(self) -> str:
        return f"{self.page}/installations/new"


def manifest_for(name: str, *, home: str, back: str) -> Mapping[str, Any]:
    """What the App is to be called and may do; a browser is sent `back` when it is made."""
    return {
        "name": name[:_LONGEST_NAME].rstrip("-"),
        "url": home,
        "description": "Label an issue, get a draft pull request.",
        "redirect_url": back,
        "public": False,
        "hook_attributes": {"url": _NO_WEBHOOK, "active": False},
        "default_permissions": dict(PERMISSIONS),
        "default_events": list(_EVENTS),
    }


async def take_over(api_url: str, code: str) -> Registered:
    """The code is good once, for an hour. Nobody else can have what it is exchanged for."""
    try:
        async with httpx.AsyncClient(timeout=_SECONDS) as http:
            answer = await http.post(
                f"{api_url}/app-manifests/{quote(code, safe='')}/conversions",
                headers={"Accept": "application/vnd.github+json"},
            )
    except httpx.HTTPError as exc:
        raise Retryable("GitHub did not answer when the App was to be taken over. Begin again.") from exc
    if answer.status_code != httpx.codes.CREATED:
        raise NeedsHuman(
            f"GitHub does not hand over the App ({answer.status_code}). Its code may be used up: begin again."
        )
    return _parse_registered(answer.json())


def _parse_registered(data: Mapping[str, Any]) -> Registered:
    return Registered(
        id=int(data["id"]),
        slug=str(data.get("slug") or data["id"]),
        page=str(data["html_url"]),
        key=str(data["pem"]),
        webhook_secret=str(data.get("webhook_secret") or ""),
    )
