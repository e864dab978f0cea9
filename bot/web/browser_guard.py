"""Browser guard: refuses requests of other sites' pages (CSRF), under an unknown host name, or with two lengths.

Rule: a page can forge neither Origin, Sec-Fetch-Site nor Host. An unknown Host is refused everywhere, which stops DNS
rebinding; a request of another site's page is refused unless it only reads. Signed requests skip both checks. A
request with two lengths may be two requests for a proxy before us, so it ends its connection.
"""

import ipaddress
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.web.security_headers import SECURITY_HEADERS

SIGNED = "/webhooks/"
"""Every path below carries a signature, which counts instead of Host and Origin."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not bound
_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_READ_ONLY = frozenset({"GET", "HEAD"})
_OWN_SITE = frozenset({"same-origin", "none"})
_PORTS = {"http": 80, "https": 443}
_UNKNOWN_HOST = "Unknown host name. If this name is correct, add it to web.hosts.\n"
_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})
_TWO_LENGTHS = "The request has two lengths.\n"
_OTHER_SITE = "A page of another site sent this request, so it was refused.\n"


class BrowserGuard:
    """ASGI middleware. `bind_host` is the host that we listen on; `hosts` are more names, such as a reverse proxy's."""

    def __init__(self, app: ASGIApp, *, bind_host: str, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._bind_host = bind_host.strip("[]").lower()
        self._hosts = frozenset(_parse_host(host) for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._find_refusal(scope) if scope["type"] == "http" else ""
        app = PlainTextResponse(refusal, status_code=403) if refusal else self._app
        if scope["type"] == "http" and {name for name, _ in scope["headers"]} >= _LENGTHS:
            app = PlainTextResponse(_TWO_LENGTHS, status_code=400, headers={"Connection": "close"})
        await app(scope, receive, send_with_headers)

    def _find_refusal(self, scope: Scope) -> str:
        if scope["path"].startswith(SIGNED):
            return ""
        headers = Headers(scope=scope)
        if not self._is_known(headers.getlist("host"), scope):
            return _UNKNOWN_HOST
        if scope["method"] not in _READ_ONLY and not _is_own_site(headers):
            return _OTHER_SITE
        return ""

    def _is_known(self, hosts: list[str], scope: Scope) -> bool:
        if len(hosts) != 1:
            return False
        name, port = _parse_host(hosts[0])
        if name and self._hosts & {(name, None), (name, port)}:
            return True
        server = scope.get("server") or ("", None)
        return (port or _PORTS["http"]) == server[1] and self._is_bound_to(name)

    def _is_bound_to(self, name: str) -> bool:
        """DNS rebinding needs a name, so every literal address is fine."""
        is_address = self._bind_host in _ANY_ADDRESS and _is_address(name)
        return name in _LOOPBACK or name == self._bind_host or is_address


def _is_own_site(headers: Headers) -> bool:
    """Programs other than browsers send neither header."""
    if headers.get("sec-fetch-site", "none") not in _OWN_SITE:
        return False
    return all(_is_same_host(origin, headers["host"]) for origin in headers.getlist("origin"))


def _is_same_host(origin: str, host: str) -> bool:
    scheme, _, origin_host = origin.partition("://")
    default = _PORTS.get(scheme)
    (name, port), (host_name, host_port) = _parse_host(origin_host), _parse_host(host)
    return bool(default and name) and (name, port or default) == (host_name, host_port or default)


def _parse_host(host: str) -> tuple[str, int | None]:
    """Lower case and without brackets. The name is empty if the host is malformed."""
    match = _HOST.fullmatch(host)
    if not match:
        return "", None
    return match["name"].strip("[]").lower(), int(match["port"]) if match["port"] else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
