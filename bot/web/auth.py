"""Authentication: finds the person behind a request by a proxy's header, the token or the login cookie.

Rule: every path needs a person, except webhooks (they are signed), health checks, static files and the login page.
"""

import hmac
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.system.clock import Clock, now
from bot.text.invisible_characters import on_one_line
from bot.web.browser_guard import SIGNED
from bot.web.login_cookie import COOKIE, make_cookie, read_cookie
from bot.web.login_link import LoginLinks
from bot.web.login_throttle import LoginThrottle
from bot.web.templating import render

_OPEN_PATHS = frozenset({"/healthz", "/readyz", "/login"})
_OPEN_FOLDERS = (SIGNED, "/static/")
_LONGEST_NAME = 100
WAIT_AFTER_WRONG_TOKENS = "Too many wrong tokens from this address. Try again in"


@dataclass(frozen=True, slots=True)
class Authenticator:
    token: str = ""
    """Without it and `user_header`, every request comes from this machine and counts as the operator's."""
    user_header: str = ""
    """Header in which a proxy names the person."""
    proxies: tuple[str, ...] = ()
    """Addresses of the proxies whose header counts."""
    operator: str = "operator"
    """Name for people without a name of their own."""
    clock: Clock = now
    cookie_key: str = field(default="", repr=False)
    """Signs cookies together with the token: it cannot be guessed, as a short token can."""
    links: LoginLinks = field(default_factory=LoginLinks)
    throttle: LoginThrottle = field(default_factory=LoginThrottle)

    def find_person(self, headers: Headers, peer: str, cookies: dict[str, str]) -> str:
        """Returns an empty name if the request is not authenticated."""
        if person := self._find_person_of_proxy(headers, peer):
            return person
        if self.token and self._has_token(headers):
            return self.operator
        if self.token and COOKIE in cookies:
            return read_cookie(cookies[COOKIE], self.token + self.cookie_key, now=self.clock())
        return "" if self.token or self.user_header else self.operator

    def _find_person_of_proxy(self, headers: Headers, peer: str) -> str:
        if not self.user_header or peer not in self.proxies:
            return ""
        names = headers.getlist(self.user_header)
        return clean_name(_decode(names[0])) if len(names) == 1 else ""

    def _has_token(self, headers: Headers) -> bool:
        """Compares in constant time, byte by byte, because a token may hold any characters."""
        authorization = b" ".join(value for name, value in headers.raw if name == b"authorization")
        scheme, _, token = authorization.partition(b" ")
        return hmac.compare_digest(token, self.token.encode()) and scheme.lower() == b"bearer"

    def seconds_to_wait(self, headers: Headers, peer: str) -> int:
        """Returns 0 unless the request tries a token and its address must wait."""
        return self.throttle.seconds_to_wait(peer) if self.token and "authorization" in headers else 0

    def try_login(self, peer: str, *, token: str, code: str) -> bool:
        """Judges the token, or the code of a link, and counts a wrong one."""
        is_token = bool(self.token) and hmac.compare_digest(token.encode(), self.token.encode())
        if is_token or (self.token and code and self.links.use(code, self.token, now=self.clock())):
            return True
        self.throttle.add_failure(peer)
        return False

    def cookie_for(self, person: str) -> str:
        return make_cookie(person, self.token + self.cookie_key, now=self.clock())


class AuthMiddleware:
    """Refuses requests without a known person; pages read the name from `request.state.person`."""

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator) -> None:
        self._app, self._authenticator = app, authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        peer = request.client.host if request.client else ""
        if seconds := self._authenticator.seconds_to_wait(request.headers, peer):
            await _too_many_tries(seconds)(scope, receive, send)
            return
        person = self._authenticator.find_person(request.headers, peer, request.cookies)
        if not person and "authorization" in request.headers:
            self._authenticator.throttle.add_failure(peer)
        scope.setdefault("state", {})["person"] = person
        scope["state"]["has_login"] = COOKIE in request.cookies
        path = scope["path"]  # the path as the routes match it
        if person or path in _OPEN_PATHS or path.startswith(_OPEN_FOLDERS):
            await self._app(scope, receive, send)
            return
        await self._refusal(request)(scope, receive, send)

    def _refusal(self, request: Request) -> ASGIApp:
        if not self._authenticator.token:
            return JSONResponse(
                {"error": "The proxy must send the name of the person in its user header."}, status_code=401
            )
        wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if not wants_page:
            return JSONResponse({"error": "Send the token: Authorization: Bearer TOKEN"}, status_code=401)
        path = _encoded_path(request.scope)
        if request.headers.get("sec-fetch-site") == "cross-site":
            # browsers send the cookie only with the next request, which is our own
            return HTMLResponse(render("login_redirect.html", path=own_path(path)))
        return RedirectResponse(f"/login?next={quote(path, safe='')}", status_code=303)


def _too_many_tries(seconds: int) -> ASGIApp:
    message = f"{WAIT_AFTER_WRONG_TOKENS} {seconds} s."
    return JSONResponse({"error": message}, status_code=429, headers={"Retry-After": str(seconds)})


def _encoded_path(scope: Scope) -> str:
    """Percent-encoded as it came, because keys contain a #."""
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def own_path(path: str) -> str:
    """Returns the board's path for any address that may lead to another site."""
    try:
        parts = urlsplit(path)
    except ValueError:
        return "/"
    leads_out = parts.scheme or parts.netloc or not path.startswith("/") or path.startswith("//")
    return "/" if leads_out or "\\" in path or not path.isprintable() or not path.isascii() else path


def clean_name(name: str) -> str:
    return on_one_line(name).strip()[:_LONGEST_NAME]


def _decode(value: str) -> str:
    """Starlette decodes headers as Latin-1; most proxies send UTF-8."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
