"""Who may come in over HTTP at all: not a web page that is open in somebody's browser, whatever it calls itself.

Rule: a browser tells where its page came from (Origin, Sec-Fetch-Site), and which name it looked up (Host); a page can
forge neither. So a name that is not ours is refused everywhere, which ends DNS rebinding, and another page's request
wherever something is set moving. What carries a signature is checked by that instead.
"""

import hmac
import ipaddress
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SIGNED = "/webhooks/"
"""Everything below is signed, so neither a name nor a page it came from matters."""

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not bound
_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_HARMLESS = frozenset({"GET", "HEAD"})
_OWN_PAGES = frozenset({"same-origin", "none"})
_PORTS = {"http": 80, "https": 443}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all, browsers do not say either where our own forms come from
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_WRONG_NAME = "I am not known by that name: add it to web.hosts if I should be.\n"
_WRONG_PAGE = "This is not for pages of other sites.\n"


class Guarded:
    """`bound` is the host we listen on; `hosts` are more names, such as a reverse proxy's."""

    def __init__(self, pages: ASGIApp, *, bound: str, hosts: tuple[str, ...]) -> None:
        self._pages = pages
        self._bound = bound.strip("[]").lower()
        self._hosts = frozenset(_parse_host(host) for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._find_refusal(scope) if scope["type"] == "http" else ""
        answer = PlainTextResponse(refusal, status_code=403) if refusal else self._pages
        await answer(scope, receive, with_headers)

    def _find_refusal(self, scope: Scope) -> str:
        if scope["path"].startswith(SIGNED):
            return ""
        headers = Headers(scope=scope)
        if not self._is_ours(headers.getlist("host"), scope):
            return _WRONG_NAME
        if scope["method"] not in _HARMLESS and not _is_own_page(headers):
            return _WRONG_PAGE
        return ""

    def _is_ours(self, named: list[str], scope: Scope) -> bool:
        if len(named) != 1:
            return False
        name, port = _parse_host(named[0])
        if name and self._hosts & {(name, None), (name, port)}:
            return True
        server = scope.get("server") or ("", None)
        return (port or _PORTS["http"]) == server[1] and self._is_bound_to(name)

    def _is_bound_to(self, name: str) -> bool:
        """An address is no name that anybody could have made lead here."""
        return name in _HERE or name == self._bound or (self._bound in _EVERYWHERE and _is_address(name))


def has_token(headers: Headers, token: str) -> bool:
    """Compared in constant time, byte by byte: it may hold any letters."""
    given = b" ".join(value for name, value in headers.raw if name == b"authorization")
    scheme, _, shown = given.partition(b" ")
    return hmac.compare_digest(shown, token.encode()) and scheme.lower() == b"bearer"


def _is_own_page(headers: Headers) -> bool:
    """What is no browser says nothing about pages."""
    if headers.get("sec-fetch-site", "none") not in _OWN_PAGES:
        return False
    origins = headers.getlist("origin")
    return all(_names_the_same(origin, headers["host"]) for origin in origins)


def _names_the_same(origin: str, host: str) -> bool:
    scheme, _, shown = origin.partition("://")
    default, (name, port), (wanted, its_port) = _PORTS.get(scheme), _parse_host(shown), _parse_host(host)
    return bool(default and name) and (name, port or default) == (wanted, its_port or default)


def _parse_host(host: str) -> tuple[str, int | None]:
    """In small letters and without brackets; an empty name where it makes no sense."""
    found = _HOST.fullmatch(host)
    if not found:
        return "", None
    return found["name"].strip("[]").lower(), int(found["port"]) if found["port"] else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
