"""HTTP proxy of the operator's network (`HTTPS_PROXY`): connects through it to hosts that it, not we, resolves."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

import h11

from bot.errors import BadSettings
from bot.sandbox.proxy.grant import ProxyRefusal
from bot.sandbox.proxy.host_and_port import HostPort

_SECONDS = 20.0
_CHUNK = 16 * 1024
_FIRST_SUCCESS, _FIRST_REDIRECT = 200, 300
_HTTP = 80

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[str, int], Awaitable[Streams]]


@dataclass(frozen=True, slots=True)
class HttpProxy:
    host: str
    port: int
    url: str = field(repr=False)
    """With user and password."""
    exceptions: str = ""
    """Hosts that are reached without it, as in `NO_PROXY`."""

    def covers(self, host: str) -> bool:
        return not (host == "localhost" or proxy_bypass_environment(host, {"no": self.exceptions}))

    async def connect(self, target: HostPort, dial: Dial) -> Streams:
        """Raises ProxyRefusal."""
        try:
            async with asyncio.timeout(_SECONDS):
                streams = await dial(self.host, self.port)
                try:
                    status = await self._ask(streams, target)
                except BaseException:
                    streams[1].close()
                    raise
        except (OSError, EOFError, h11.RemoteProtocolError) as problem:
            raise ProxyRefusal(502, "The HTTP proxy of this network does not answer.") from problem
        if _FIRST_SUCCESS <= status < _FIRST_REDIRECT:
            return streams
        streams[1].close()
        attempt = f"reach {target} through the HTTP proxy of this network, which answers {status}"
        raise ProxyRefusal(502, f"The HTTP proxy of this network answers {status} for {target}.", attempt=attempt)

    async def _ask(self, streams: Streams, target: HostPort) -> int:
        http = h11.Connection(h11.CLIENT)
        headers = [("host", str(target)), *self._credential()]
        streams[1].write(http.send(h11.Request(method="CONNECT", target=str(target), headers=headers)) or b"")
        while not isinstance(event := http.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                http.receive_data(await streams[0].read(_CHUNK))
            elif not isinstance(event, h11.InformationalResponse):
                raise EOFError
        if event.status_code < _FIRST_REDIRECT and http.trailing_data[0]:
            raise EOFError  # in TLS, the client speaks first
        return event.status_code

    def _credential(self) -> list[tuple[str, str]]:
        parts = urlsplit(self.url)
        if parts.username is None:
            return []
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return [("proxy-authorization", f"Basic {base64.b64encode(pair.encode()).decode('ascii')}")]


def parse_http_proxy(url: str, exceptions: str) -> HttpProxy | None:
    """Returns None if there is none. Raises BadSettings without repeating the address, which may hold a password."""
    if not url:
        return None
    url = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _HTTP
    except ValueError:
        parts, host, port = urlsplit(""), None, 0
    if parts.scheme != "http" or not host:
        raise BadSettings("The variable HTTPS_PROXY is not the address of an HTTP proxy. Use http://HOST:PORT.")
    return HttpProxy(host, port, url, exceptions)
