"""Tunnels to the few hosts a sandbox may reach: the name resolved once, the address dialled, the name asked for in TLS.

What goes on inside a tunnel nobody reads.
"""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

import h11

from bot.sandbox.proxy import tls_hello as hello
from bot.sandbox.proxy.connection import Caller, Gone
from bot.sandbox.proxy.grant import Passport, Refusal

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
IsPublic = Callable[[str], bool]
Dial = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]

_CHUNK = 64 * 1024
_MOST_AT_ONCE = 64
_MOST_ADDRESSES = 4
_RESOLVE_SECONDS = 20.0
_DIAL_SECONDS = 10.0
_HELLO_SECONDS = 10.0
_IDLE_SECONDS = 600.0
_TARGET = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})", re.ASCII)
_HTTPS = 443

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Place:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_named(self) -> bool:
        try:
            ip_address(self.host)
        except ValueError:
            return True
        return False


async def resolved(host: str, port: int) -> Sequence[str]:
    """All its addresses, as the machine sees them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@dataclass(slots=True)
class Tunnels:
    """For one sandbox."""

    passport: Passport
    resolve: Resolve
    is_public: IsPublic
    dial: Dial
    _open: int = 0
    _allowed: frozenset[Place] = field(init=False)

    def __post_init__(self) -> None:
        self._allowed = frozenset(_listed(self.passport.hosts))

    async def serve(self, caller: Caller, request: h11.Request) -> None:
        place = _asked(request)
        if place not in self._allowed:
            raise Refusal(403, f"{place} is not among the hosts this run may reach.", tried=f"reach {place}")
        if self._open >= _MOST_AT_ONCE:
            raise Refusal(403, "Too many connections at once.", tried=f"hold more than {_MOST_AT_ONCE} connections")
        self._open += 1
        try:
            addresses = await self._addresses(place)
            async with _closing(await self._dialled(addresses, place)) as far:
                await _join(caller, far, place)
        finally:
            self._open -= 1

    async def _addresses(self, place: Place) -> Sequence[str]:
        """Looked at here and dialled as they are: a name may say something else the next moment."""
        addresses = await self._resolved(place) if place.is_named else [place.host]
        if not addresses:
            raise Refusal(502, f"{place} was not found.")
        if not all(map(self.is_public, addresses)):
            tried = f"reach {place}, which is not on the public internet"
            raise Refusal(403, f"{place} is not on the public internet.", tried=tried)
        return addresses

    async def _resolved(self, place: Place) -> Sequence[str]:
        try:
            async with asyncio.timeout(_RESOLVE_SECONDS):
                return list(dict.fromkeys(await self.resolve(place.host, place.port)))
        except (OSError, UnicodeError):
            return []

    async def _dialled(self, addresses: Sequence[str], place: Place) -> _Streams:
        for address in addresses[:_MOST_ADDRESSES]:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_DIAL_SECONDS):
                    return await self.dial(address, place.port)
        raise Refusal(502, f"{place} does not answer.")


def _listed(hosts: Iterable[str]) -> Iterable[Place]:
    """As the operator wrote them; names in other letters as they go over the wire."""
    for host in hosts:
        with contextlib.suppress(UnicodeError):
            host = host if host.isascii() else host.encode("idna").decode("ascii")  # noqa: PLW2901
        bare = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
        place = _place(bare) or _place(f"{bare}:{_HTTPS}")
        if place:
            yield place


def _place(text: str) -> Place | None:
    found = _TARGET.fullmatch(text)
    if not found or not 0 < int(found["port"]) < 1 << 16:
        return None
    host = found["host"].strip("[]").lower()
    host = host.removesuffix(".")
    with contextlib.suppress(ValueError):
        host = str(ip_address(host))
    return Place(host, int(found["port"])) if host else None


def _asked(request: h11.Request) -> Place:
    target = request.target.decode("ascii", errors="replace")
    place = _place(target)
    if place is None:
        raise Refusal(400, "That is no host and port.", tried=f"reach {target}")
    return place


@contextlib.asynccontextmanager
async def _closing(streams: _Streams) -> AsyncIterator[_Streams]:
    try:
        yield streams
    finally:
        streams[1].close()


async def _join(caller: Caller, far: _Streams, place: Place) -> None:
    reader, writer, early = await caller.hand_over()
    opening = await _hello(reader, early, place)
    try:
        far[1].write(opening)
        async with asyncio.timeout(_IDLE_SECONDS) as patience, asyncio.TaskGroup() as group:
            group.create_task(_pump(reader, far[1], patience))
            group.create_task(_pump(far[0], writer, patience))
    except TimeoutError:
        return


async def _hello(reader: asyncio.StreamReader, early: bytes, place: Place) -> bytes:
    received = early
    try:
        async with asyncio.timeout(_HELLO_SECONDS):
            while (name := hello.name_in(received)) is None:
                data = await reader.read(_CHUNK)
                if not data:
                    raise Gone
                received += data
    except (OSError, TimeoutError) as exc:
        raise Gone from exc
    except hello.NotTls as exc:
        raise Refusal(403, "That is no TLS.", tried=f"speak something else than TLS to {place}") from exc
    if name.removesuffix(".") != (place.host if place.is_named else ""):
        tried = f"reach {name or 'a host without a name'} through a connection to {place}"
        raise Refusal(403, "That is another host.", tried=tried)
    return received


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, patience: asyncio.Timeout) -> None:
    """One direction; the other may go on after it."""
    clock = asyncio.get_running_loop().time
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
            patience.reschedule(clock() + _IDLE_SECONDS)
    with contextlib.suppress(OSError):
        target.write_eof()
