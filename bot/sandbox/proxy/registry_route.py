"""Registry route of the proxy: ends the sandbox's TLS, and repeats each download to the real registry with its token.

Rule: the token leaves only through TLS whose certificate names the registry, on requests for the registry's own host.
"""

import asyncio
import contextlib
import json
import re
import socket as sockets
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11

from bot.sandbox.authorities import TrustedAuthorities
from bot.sandbox.proxy.connection import Connection, ConnectionGone, HeaderList
from bot.sandbox.proxy.grant import Grant, ProxyRefusal
from bot.sandbox.proxy.host_and_port import HostPort, parse_allowed_hosts
from bot.sandbox.proxy.network import Connector, Streams
from bot.sandbox.proxy.registry import Registry, registry_request
from bot.sandbox.proxy.registry_client import RegistryClient
from bot.sandbox.proxy.secret_echo import EchoGuard, SecretEchoed

if TYPE_CHECKING:
    from bot.sandbox.proxy.authority import Authority

_HANDSHAKE_SECONDS = 15.0
_FIRST_ERROR_STATUS = 400
_TOKEN_REFUSED = frozenset({401, 403})
_RESPONSE_HEADERS = re.compile(
    rb"content-(?:type|length|encoding|disposition|language)|etag|last-modified|cache-control|expires|date|age|vary"
    rb"|location|link|retry-after|x-pypi-last-serial|x-checksum-[\w-]+"
)
"""No cookies: a session could stand for the token."""


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """Registries of one sandbox, and what the proxy needs to take their place."""

    registries: Sequence[Registry]
    authority: "Authority"
    trusted: ssl.SSLContext
    """TLS to the real registries."""

    def route(
        self, host: HostPort, connect: Connector, record_refusal: Callable[[str], None]
    ) -> "RegistryRoute | None":
        """Returns None if the host is no registry."""
        found = next((registry for registry in self.registries if registry.host == host), None)
        if found is None:
            return None
        return RegistryRoute(found, self.authority.contexts[host.host], self.trusted, connect, record_refusal)


def registry_access(
    registries: Sequence[Registry], grant: Grant, authorities: TrustedAuthorities
) -> RegistryAccess | None:
    """Returns None if the sandbox may reach no registry."""
    allowed = frozenset(parse_allowed_hosts(grant.hosts))
    reached = [registry for registry in registries if registry.host in allowed]
    if not reached:
        return None
    from bot.sandbox.proxy.authority import make_authority

    return RegistryAccess(reached, make_authority(one.host.host for one in reached), authorities.context)


@dataclass(slots=True)
class RegistryRoute:
    """Serves one connection of a sandbox to a registry."""

    registry: Registry
    context: ssl.SSLContext
    """TLS of the proxy's side."""
    trusted: ssl.SSLContext
    """TLS to the real registry."""
    connect: Connector
    record_refusal: Callable[[str], None]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Yields a connection that takes the place of one to the registry; TLS begins on it."""
        near, far = sockets.socketpair()
        problem = None
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._serve(far))
            reader, writer = await asyncio.open_connection(sock=near)
            try:
                yield reader, writer
            except (ProxyRefusal, ConnectionGone) as exc:
                problem = exc  # raised below, as itself and not as one of a group
            finally:
                writer.close()
                serving.cancel()
        if problem:
            raise problem

    async def _serve(self, far: sockets.socket) -> None:
        with contextlib.suppress(OSError):  # the sandbox does not trust our certificate, or has left
            reader, writer = await self._accept(far)
            connection = Connection(reader, writer)
            upstream = RegistryClient(self.registry, self.trusted, self.connect)
            try:
                while await self._answer(connection, upstream):
                    pass
            except ProxyRefusal as refusal:
                if refusal.attempt:
                    self.record_refusal(refusal.attempt)
                with contextlib.suppress(ConnectionGone):
                    await connection.refuse(refusal)
            except ConnectionGone:
                return
            finally:
                upstream.close()
                writer.close()

    async def _accept(self, far: sockets.socket) -> Streams:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        far.setblocking(False)  # noqa: FBT003
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, far, ssl=self.context, ssl_handshake_timeout=_HANDSHAKE_SECONDS
            )
        except BaseException:
            far.close()
            raise
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _answer(self, connection: Connection, upstream: RegistryClient) -> bool:
        """Returns whether the connection may send another request."""
        request = registry_request(self.registry, await connection.request())
        await connection.body(0)
        response = await upstream.ask(request)
        status, host = response.status_code, self.registry.host
        if status in _TOKEN_REFUSED:
            self.record_refusal(f"download from {host}, which answers {status} to its token")
        if status >= _FIRST_ERROR_STATUS:  # error pages repeat what they got
            upstream.close()
            body = json.dumps({"error": f"{host} answers {status}."}).encode()
            await connection.respond(status, body, [(b"content-type", b"application/json")])
            return True
        echo = EchoGuard(self.registry.secrets)
        try:
            await connection.start_response(status, _passed_headers(response, echo))
            async for data in upstream.body():
                if passed := echo.feed(data):
                    await connection.send_data(passed)
            if rest := echo.finish():
                await connection.send_data(rest)
        except SecretEchoed:
            self.record_refusal(f"download the token of {host}")
            raise ConnectionGone from None
        await connection.end_response()
        return True


def _passed_headers(response: h11.Response, echo: EchoGuard) -> HeaderList:
    headers = [(name, value) for name, value in response.headers if _RESPONSE_HEADERS.fullmatch(name)]
    for _, value in headers:
        echo.check(value)
    return headers
