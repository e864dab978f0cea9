"""GitHub App registration: two local pages, one sends a person to GitHub, the other takes the new App.

Rule: both have a random address, and the answer must carry our random state. Otherwise another page in the browser
could give us an App that belongs to somebody else.
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
from bot.web.browser_guard import BrowserGuard

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }}
button {{ font: inherit; padding: .5rem 1rem; margin: .25rem 0 }}
</style></head><body><main><h1>{title}</h1>{body}</main></body></html>"""
_FORM = """<form method="post" action="{action}"><input type="hidden" name="manifest" value="{manifest}">
<button>{text}</button></form>"""


class AppRegistration:
    def __init__(
        self,
        site: str,
        owner: str,
        manifest: Callable[[str], Mapping[str, Any]],
        take: Callable[[str], Awaitable[str]],
    ) -> None:
        """`manifest` gets the address to return to; `take` turns the code into the App and returns its install page."""
        self._site, self._owner, self._manifest, self._take = site, owner, manifest, take
        self._path, self._state = secrets.token_urlsafe(16), secrets.token_urlsafe(32)

    def address(self, port: int) -> str:
        return f"http://127.0.0.1:{port}/{self._path}"

    def app(self) -> Starlette:
        routes = [Route(f"/{self._path}", self._start), Route(f"/{self._path}/back", self._back)]
        return Starlette(routes=routes, middleware=[Middleware(BrowserGuard, bind_host="127.0.0.1", hosts=())])

    async def _start(self, request: Request) -> Response:
        manifest = json.dumps(self._manifest(f"{self.address(request.url.port or 80)}/back"))
        choices = (
            (f"organizations/{self._owner}/settings", f"Create it for the organization {self._owner}"),
            ("settings", "Create it for your own account"),
        )
        forms = "".join(
            _FORM.format(
                action=escape(f"{self._site}/{path}/apps/new?state={self._state}"),
                manifest=escape(manifest),
                text=escape(text),
            )
            for path, text in choices
        )
        about = "<p>GitHub shows the permissions of the App and lets you change its name. Who owns the repository?</p>"
        return self._page("Create a GitHub App for Treehand", f"{about}{forms}")

    async def _back(self, request: Request) -> Response:
        state = request.query_params.get("state", "")
        if not hmac.compare_digest(state.encode(), self._state.encode()):
            return self._page("Unknown registration", "<p>Open the address from your terminal again.</p>", 403)
        try:
            install = await self._take(request.query_params.get("code", ""))
        except BotError as problem:
            return self._page("Registration failed", f"<p>{escape(str(problem))}</p>", 502)
        link = f'<a href="{escape(install)}">Install it on your repositories</a>'
        return self._page("App created", f"<p>{link}, then go back to your terminal.</p>")

    def _page(self, title: str, body: str, status: int = 200) -> Response:
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self' {self._site}; frame-ancestors 'none'"
        )
        html = _PAGE.format(title=escape(title), body=body)
        return HTMLResponse(html, status, {"Content-Security-Policy": policy})
