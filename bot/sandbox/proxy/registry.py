"""Registry: a host to which the proxy sends a token that no sandbox sees; which requests get it, and which pass."""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

import h11

from bot.sandbox.proxy.connection import HeaderList
from bot.sandbox.proxy.grant import ProxyRefusal
from bot.sandbox.proxy.host_and_port import HTTPS, HostPort, parse_host_port

_BEARER, _BASIC = "bearer", "basic"
_METHODS = frozenset({b"GET", b"HEAD"})
_REQUEST_HEADERS = re.compile(
    rb"accept|accept-language|cache-control|pragma|if-none-match|if-modified-since|user-agent"
    rb"|npm-(?:command|in-ci|scope|session)|pacote-(?:integrity|pkg-id|req-type|version)"
)
"""No `Range`: parts of an answer could be told apart from the token. No header that changes the method or the path."""
_DECODINGS = 4
_PLACEHOLDER = "held-by-treehand"
_SHORTEST_SECRET = 12
"""Shorter texts could be ordinary words of a package."""


@dataclass(frozen=True, slots=True)
class Registry:
    host: HostPort
    token: str = field(repr=False)
    """With `basic`: user and password, with a colon between them."""
    auth: str = _BEARER
    """`bearer`, `basic`, or the name of a header."""
    path: str = "/"
    """Requests below this path get the token."""
    variable: str = ""
    """Name of the variable that holds a placeholder in the sandbox; empty: none."""

    def credential_for(self, target: str) -> HeaderList:
        if not target.partition("?")[0].startswith(self.path):
            return ()
        if self.auth not in {_BEARER, _BASIC}:
            return [(self.auth.lower().encode(), self.token.encode())]
        sent = self._basic if self.auth == _BASIC else self.token
        return [(b"authorization", f"{self.auth.capitalize()} {sent}".encode())]

    @property
    def _basic(self) -> str:
        return base64.b64encode(self.token.encode()).decode("ascii")

    @property
    def secrets(self) -> Sequence[bytes]:
        """Texts by which the token could be recognised in an answer."""
        password = self.token.partition(":")[2] if self.auth == _BASIC else ""
        return [one.encode() for one in dict.fromkeys(self._forms(password)) if len(one) >= _SHORTEST_SECRET]

    def _forms(self, password: str) -> Iterator[str]:
        for secret in filter(None, (self.token, password)):
            yield secret
            yield quote(secret, safe="")
            yield base64.b64encode(secret.encode()).decode("ascii").rstrip("=")


def placeholders(registries: Iterable[Registry]) -> dict[str, str]:
    """Variables for files of the repository that name them; the proxy replaces what tools send."""
    return {registry.variable: _PLACEHOLDER for registry in registries if registry.variable}


def registry_request(registry: Registry, request: h11.Request) -> h11.Request:
    """The request as the registry gets it. Raises ProxyRefusal unless it only reads, and from this host."""
    method, target = request.method, request.target.decode("ascii", errors="replace")
    host = registry.host
    if method not in _METHODS:
        raise ProxyRefusal(
            405, f"Only downloads from {host} are allowed.", attempt=f"send {method.decode('ascii')} to {host}"
        )
    if not target.startswith("/") or target.startswith("//"):
        raise ProxyRefusal(400, "The target is not a path.", attempt=f"reach {target} through a connection to {host}")
    _refuse_other_host(registry, request)
    if any(_announces_body(name, value) for name, value in request.headers):
        raise ProxyRefusal(400, "A download has no body.", attempt=f"send data to {host}")
    _refuse_detours(target, host)
    passed = [(name, value) for name, value in request.headers if _REQUEST_HEADERS.fullmatch(name)]
    own = (b"host", (host.host if host.port == HTTPS else str(host)).encode())
    identity = (b"accept-encoding", b"identity")
    return h11.Request(method=method, target=target, headers=[own, *passed, identity, *registry.credential_for(target)])


def _announces_body(name: bytes, value: bytes) -> bool:
    return name == b"transfer-encoding" or (name == b"content-length" and value != b"0")


def _refuse_other_host(registry: Registry, request: h11.Request) -> None:
    named = next((value.decode("ascii", errors="replace") for name, value in request.headers if name == b"host"), "")
    if (parse_host_port(named) or parse_host_port(f"{named}:{HTTPS}")) != registry.host:
        attempt = f"reach {named or 'a host without a name'} through a connection to {registry.host}"
        raise ProxyRefusal(403, "The request names another host.", attempt=attempt)


def _refuse_detours(target: str, host: HostPort) -> None:
    """A path with `..` could lead out of the registry's own path, however often a server decodes it."""
    path = target.partition("?")[0]
    for _ in range(_DECODINGS):
        if any(part.partition(";")[0] in {".", ".."} for part in re.split(r"[/\\]", path)):
            break
        decoded = unquote(path)
        if decoded == path:
            return
        path = decoded
    raise ProxyRefusal(400, "The path is not plain.", attempt=f"reach {target} on {host}")
