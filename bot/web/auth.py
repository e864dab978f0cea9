"""Who is here: whoever a proxy in front of us vouches for, whoever showed the token, or whoever is on this machine.

Rule: every page asks for it but those that carry a signature, say that we live, or let people show the token.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.system.clock import DAY, Clock, now
from bot.text.visible import on_one_line
from bot.web.browser_guard import SIGNED, has_token
from bot.web.templating import rendered

COOKIE = "treehand"
SECONDS = 14 * DAY
"""How long a person stays logged in."""
_OPEN = frozenset({"/healthz", "/readyz", "/login"})
_OPEN_BELOW = (SIGNED, "/static/")
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Access:
    token: str = ""
    """Empty, and no header either: only this machine may come, and all of it."""
    user_header: str = ""
    """Where a proxy says who it is that asks."""
    proxies: tuple[str, ...] = ()
    """The addresses such a proxy may ask from."""
    operator: str = "operator"
    """What people are called who have no other name here."""
    clock: Clock = now

    def find_person(self, headers: Headers, peer: str, cookies: dict[str, str]) -> str:
        """Empty: nobody we know."""
        if vouched := self._find_vouched(headers, peer):
            return vouched
        if self.token and has_token(headers, self.token):
            return self.operator
        if self.token and COOKIE in cookies:
            return self._read(cookies[COOKIE])
        return "" if self.token or self.user_header else self.operator

    def _find_vouched(self, headers: Headers, peer: str) -> str:
        if not self.user_header or peer not in self.proxies:
            return ""
        named = headers.getlist(self.user_header)
        return clean_name(_decoded(named[0])) if len(named) == 1 else ""

    def opens_with(self, token: str) -> bool:
        return bool(self.token) and hmac.compare_digest(token.encode(), self.token.encode())

    def cookie_for(self, person: str) -> str:
        """Says who it is and until when. Whoever changes the token makes all of them worthless."""
        told = json.dumps({"person": person, "until": self.clock() + SECONDS}).encode()
        return f"{base64.urlsafe_b64encode(told).decode()}.{self._seal(told)}"

    def _read(self, cookie: str) -> str:
        words, _, seal = cookie.partition(".")
        try:
            told = base64.urlsafe_b64decode(words.encode())
        except (binascii.Error, ValueError):
            return ""
        if not hmac.compare_digest(seal.encode(), self._seal(told).encode()):
            return ""
        said = json.loads(told)
        return str(said["person"]) if self.clock() < said["until"] else ""

    def _seal(self, told: bytes) -> str:
        return hmac.new(self.token.encode(), b"treehand session\0" + told, hashlib.sha256).hexdigest()


class Asked:
    """Nobody comes further whom we do not know; whose name it is, the pages find in `request.state.person`."""

    def __init__(self, pages: ASGIApp, *, access: Access) -> None:
        self._pages, self._access = pages, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        request = Request(scope)
        peer = request.client.host if request.client else ""
        person = self._access.find_person(request.headers, peer, request.cookies)
        scope.setdefault("state", {})["person"] = person
        scope["state"]["may_leave"] = COOKIE in request.cookies
        path = scope["path"]  # as the routes see it
        if person or path in _OPEN or path.startswith(_OPEN_BELOW):
            await self._pages(scope, receive, send)
            return
        await self._refusal(request)(scope, receive, send)

    def _refusal(self, request: Request) -> ASGIApp:
        if not self._access.token:
            return JSONResponse({"error": "The proxy in front of me must say who you are."}, status_code=401)
        wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if not wants_page:
            return JSONResponse({"error": "A token is needed: Authorization: Bearer ..."}, status_code=401)
        there = _asked_for(request.scope)
        if request.headers.get("sec-fetch-site") == "cross-site":
            return HTMLResponse(rendered("bounce.html", there=place_in_here(there)))  # the cookie comes with the next
        return RedirectResponse(f"/login?next={quote(there, safe='')}", status_code=303)


def _asked_for(scope: Scope) -> str:
    """Encoded as it came: keys have a # in them."""
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def place_in_here(there: str) -> str:
    """A path of ours to go on to; whatever might lead elsewhere is the board."""
    try:
        found = urlsplit(there)
    except ValueError:
        return "/"
    leads_out = found.scheme or found.netloc or not there.startswith("/") or there.startswith("//")
    return "/" if leads_out or "\\" in there or not there.isprintable() or not there.isascii() else there


def clean_name(name: str) -> str:
    return on_one_line(name).strip()[:_LONGEST_NAME]


def _decoded(value: str) -> str:
    """Headers come as Latin-1; most proxies mean UTF-8."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
