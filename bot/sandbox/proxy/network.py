"""Network of the host: resolves a name once, checks all addresses, and dials only those."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bot.sandbox.proxy.grant import ProxyRefusal
from bot.sandbox.proxy.host_and_port import HostPort
from bot.sandbox.proxy.http_proxy import HttpProxy
from bot.sandbox.proxy.private_addresses import is_private
from bot.sandbox.proxy.public_addresses import is_public as is_public_address

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
ResolveHost = Callable[[str, int], Awaitable[Sequence[str]]]
IsPublic = Callable[[str], bool]
Dial = Callable[[str, int], Awaitable[Streams]]
Connector = Callable[[], Awaitable[Streams]]
"""Connects to one host, whose addresses were checked. Raises ProxyRefusal."""

_MAX_ADDRESSES = 4
_RESOLVE_SECONDS = 20.0
_DIAL_SECONDS = 10.0


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Returns all addresses of the host, as this machine resolves it."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class NotPublic(ProxyRefusal):
    """The host has an address that is not on the public internet."""


@dataclass(frozen=True, slots=True)
class Network:
    resolve: ResolveHost = resolve_host
    """Returns all addresses of a host."""
    is_public: IsPublic = is_public_address
    dial: Dial = asyncio.open_connection
    http_proxy: HttpProxy | None = None
    """The HTTP proxy of the operator's network resolves the hosts that it covers, so their addresses are unknown."""

    async def connector(self, target: HostPort, *, may_be_private: bool, is_checked: bool = False) -> Connector:
        """`is_checked`: also if the operator's HTTP proxy connects to it. Raises ProxyRefusal."""
        if self.http_proxy and target.is_named and self.http_proxy.covers(target.host):
            if is_checked:
                await self._checked_addresses(target, may_be_private=may_be_private)
            return partial(self.http_proxy.connect, target, self.dial)
        addresses = await self._checked_addresses(target, may_be_private=may_be_private)
        return partial(self._connect, addresses, target)

    async def _checked_addresses(self, target: HostPort, *, may_be_private: bool) -> Sequence[str]:
        """The checked addresses are those dialled: the name may resolve to others the next moment."""
        addresses = await self._resolve(target) if target.is_named else [target.host]
        if not addresses:
            raise ProxyRefusal(502, f"{target} was not found.")
        if not all(self.is_public(address) or (may_be_private and is_private(address)) for address in addresses):
            attempt = f"reach {target}, which is not on the public internet"
            raise NotPublic(403, f"{target} is not on the public internet.", attempt=attempt)
        return addresses

    async def _resolve(self, target: HostPort) -> Sequence[str]:
        try:
            async with asyncio.timeout(_RESOLVE_SECONDS):
                return list(dict.fromkeys(await self.resolve(target.host, target.port)))
        except (OSError, UnicodeError):
            return []

    async def _connect(self, addresses: Sequence[str], target: HostPort) -> Streams:
        for address in addresses[:_MAX_ADDRESSES]:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_DIAL_SECONDS):
                    return await self.dial(address, target.port)
        raise ProxyRefusal(502, f"{target} does not answer.")
