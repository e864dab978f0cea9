"""Tunnels of the proxy: connect a sandbox to an allowed host, by a checked address and with that host's name in TLS.

The contents of a tunnel are not read, except those of a tunnel to a registry: its other end is the proxy itself.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import h11

from bot.sandbox.proxy import tls_hello
from bot.sandbox.proxy.connection import Connection, ConnectionGone
from bot.sandbox.proxy.grant import Grant, ProxyRefusal
from bot.sandbox.proxy.host_and_port import HostPort, parse_allowed_hosts, parse_host_port
from bot.sandbox.proxy.learned_hosts import LearnedHosts
from bot.sandbox.proxy.network import Connector, Network, NotPublic, Streams
from bot.sandbox.proxy.registry_route import RegistryAccess

_CHUNK = 64 * 1024
_MAX_AT_ONCE = 64
_HELLO_SECONDS = 10.0
_IDLE_SECONDS = 600.0


@dataclass(slots=True)
class Tunnels:
    """Tunnels of one sandbox."""

    grant: Grant
    network: Network
    registries: RegistryAccess | None = None
    record_refusal: Callable[[str], None] = lambda _: None
    _open: int = 0
    _allowed: frozenset[HostPort] = field(init=False)
    _private: frozenset[HostPort] = field(init=False)

    def __post_init__(self) -> None:
        self._allowed = frozenset(parse_allowed_hosts(self.grant.hosts))
        self._private = frozenset(parse_allowed_hosts(self.grant.private_hosts))

    async def serve(self, connection: Connection, request: h11.Request) -> None:
        target = _parse_target(request)
        learned = self.grant.learned
        if target not in self._allowed and not (learned and learned.admits(target)):
            raise ProxyRefusal(403, f"{target} is not a host that this run may reach.", attempt=f"reach {target}")
        if self._open >= _MAX_AT_ONCE:
            raise ProxyRefusal(
                403, "Too many connections at the same time.", attempt=f"hold more than {_MAX_AT_ONCE} connections"
            )
        self._open += 1
        try:
            async with self._remote(target, await self._connector(target)) as remote:
                await _relay(connection, remote, target, learned)
        finally:
            self._open -= 1

    async def _connector(self, target: HostPort) -> Connector:
        learned = self.grant.learned if target not in self._allowed else None
        may_be_private = target in self._private
        try:
            return await self.network.connector(target, may_be_private=may_be_private, is_checked=learned is not None)
        except NotPublic:
            if learned:
                learned.record_private(target)
            raise

    @contextlib.asynccontextmanager
    async def _remote(self, target: HostPort, connect: Connector) -> AsyncIterator[Streams]:
        if self.registries and (route := self.registries.route(target, connect, self.record_refusal)):
            async with route.open() as streams:
                yield streams
        else:
            async with _closing(await connect()) as streams:
                yield streams


def _parse_target(request: h11.Request) -> HostPort:
    text = request.target.decode("ascii", errors="replace")
    target = parse_host_port(text)
    if target is None:
        raise ProxyRefusal(400, "The target is not a host with a port.", attempt=f"reach {text}")
    return target


@contextlib.asynccontextmanager
async def _closing(streams: Streams) -> AsyncIterator[Streams]:
    try:
        yield streams
    finally:
        streams[1].close()


async def _relay(connection: Connection, remote: Streams, target: HostPort, learned: LearnedHosts | None) -> None:
    reader, writer, early = await connection.detach()
    opening = await _read_hello(reader, early, target)
    if learned:
        learned.record(target)
    try:
        remote[1].write(opening)
        async with asyncio.timeout(_IDLE_SECONDS) as deadline, asyncio.TaskGroup() as group:
            group.create_task(_pump(reader, remote[1], deadline))
            group.create_task(_pump(remote[0], writer, deadline))
    except TimeoutError:
        return


async def _read_hello(reader: asyncio.StreamReader, early: bytes, target: HostPort) -> bytes:
    received = early
    try:
        async with asyncio.timeout(_HELLO_SECONDS):
            while (name := tls_hello.server_name(received)) is None:
                data = await reader.read(_CHUNK)
                if not data:
                    raise ConnectionGone
                received += data
    except (OSError, TimeoutError) as exc:
        raise ConnectionGone from exc
    except tls_hello.NotTls as exc:
        raise ProxyRefusal(
            403, "The connection is not TLS.", attempt=f"use a protocol other than TLS with {target}"
        ) from exc
    if name.removesuffix(".") != (target.host if target.is_named else ""):
        attempt = f"reach {name or 'a host without a name'} through a connection to {target}"
        raise ProxyRefusal(403, "The TLS connection names another host.", attempt=attempt)
    return received


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, deadline: asyncio.Timeout) -> None:
    """Copies one direction; the other may continue after it."""
    clock = asyncio.get_running_loop().time
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
            deadline.reschedule(clock() + _IDLE_SECONDS)
    with contextlib.suppress(OSError):
        target.write_eof()
