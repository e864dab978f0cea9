"""Two small pages on this machine: one sends a person to GitHub to make an App, the other takes them back.

Rule: both lie at an address that nobody can guess, and what comes back must carry what was sent along: or another
page in that browser could hand us an App of somebody else's.
"""

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from html import escape
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.errors import BotError
from bot.web.browser_guard import Guarded

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }}
button {{ font: inherit; padding: .5rem 1rem; margin: .25rem 0 }}
</style></head><body><main><h1>{title}</h1>{body}</main></body></html>"""
_FORM = """<form method="post" action="{action}"><input type="hidden" name="manifest" value="{manifest}">
<button>{words}</button></form>"""


class Registration:
    """One App that is about to be made."""

    def __init__(
        self,
        site: str,
        owner: str,
        manifest: Callable[[str], Mapping[str, Any]],
        take: Callable[[str], Awaitable[str]],
    ) -> None:
        """`manifest` is told where to send people back; `take` makes use of the code, and says where to install."""
        self._site, self._owner, self._manifest, self._take = site, owner, manifest, take
        self._place, self._state = secrets.token_urlsafe(16), secrets.token_urlsafe(32)

    def address(self, port: int) -> str:
        return f"http://127.0.0.1:{port}/{self._place}"

    def pages(self) -> Starlette:
        routes = [Route(f"/{self._place}", self._begin), Route(f"/{self._place}/back", self._back)]
        return Starlette(routes=routes, middleware=[Middleware(Guarded, bound="127.0.0.1", hosts=())])

    async def _begin(self, request: Request) -> Response:
        manifest = json.dumps(self._manifest(f"{self.address(request.url.port or 80)}/back"))
        choices = (
            (f"organizations/{self._owner}/settings", f"Make it for the organization {self._owner}"),
            ("settings", "Make it for my own account"),
        )
        forms = "".join(
            _FORM.format(
                action=escape(f"{self._site}/{place}/apps/new?state={self._state}"),
                manifest=escape(manifest),
                words=escape(words),
            )
            for place, words in choices
        )
        about = "<p>GitHub shows what it may do, and lets you change its name. Who owns the repository?</p>"
        return self._shown("A GitHub App for Treehand", f"{about}{forms}")

    async def _back(self, request: Request) -> Response:
        shown = request.query_params.get("state", "")
        if not hmac.compare_digest(shown.encode(), self._state.encode()):
            return self._shown("That did not begin here", "<p>Open the address from your terminal again.</p>", 403)
        try:
            install = await self._take(request.query_params.get("code", ""))
        except BotError as problem:
            return self._shown("That did not work", f"<p>{escape(str(problem))}</p>", 502)
        link = f'<a href="{escape(install)}">Install it on your repositories</a>'
        return self._shown("The App is made", f"<p>{link}, and go back to your terminal.</p>")

    def _shown(self, title: str, body: str, status: int = 200) -> Response:
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self' {self._site}; frame-ancestors 'none'"
        )
        page = _PAGE.format(title=escape(title), body=body)
        return HTMLResponse(page, status, {"Content-Security-Policy": policy})
