"""Port forwarding: connects a person's browser to a server in a sandbox, which has a network of its own.

Rules: programs in the sandbox dial out to us, as they do to the proxy; the host opens no path that they could name. It
listens on this machine's loopback alone. And a browser must use the name `localhost`: it sends the cookies of a name to
every port of that name, so at `127.0.0.1` the server would get those of the dashboard.
"""

import asyncio
import contextlib
import errno
import re
import socket as sockets
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bot.errors import BotError, NeedsHuman
from bot.sandbox.proxy.server import listen_on
from bot.system.descriptors import share_of_limit

_LOOPBACK = "127.0.0.1"
_CHUNK = 1 << 16
_MAX_VISITORS = 256
_PART_OF_DESCRIPTORS = 32
"""A visitor takes two, and several servers may be up at once."""
_MAX_OFFERS = 16
_OFFER_SECONDS = 10.0
"""Time limit for the sandbox to offer a connection."""
_HEAD_SECONDS = 60.0
"""Time limit for a visitor to send a request."""
_MAX_HEAD_BYTES = 1 << 16
_MAY_BECOME_HTTP = re.compile(rb"[A-Z]{0,20}(?: [^\n]*)?")
_HTTP = re.compile(rb"[A-Z]{1,20} [^\n]* HTTP/1\.[0-9]\r?\n")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_HOST_HEADER = re.compile(rb"^host[ \t]*:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_LOCALHOST = re.compile(rb"(?:[a-z0-9-]+\.)*localhost(?::[0-9]{1,5})?", re.IGNORECASE)

_MISDIRECTED = (
    b"HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"Use the name localhost: cookies of pages at other names of this machine are not for what runs here.\n"
)


@asynccontextmanager
async def forward_ports(socket: Path, ports: Sequence[int]) -> AsyncIterator[None]:
    """Forwards these ports of this machine to the same ports in the sandbox. NeedsHuman: the first is taken."""
    offers: asyncio.Queue[sockets.socket] = asyncio.Queue(_MAX_OFFERS)
    problem: BotError | None = None
    with listen_on(socket) as listener, _closing(offers):
        async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            tasks = {group.create_task(_accept_offers(listener, offers))}
            forwarder = _Forwarder(offers, group, tasks)
            try:
                for port in ports:
                    await _listen(port, forwarder, stack, required=port == ports[0])
                yield
            except BotError as exc:  # raised again below, as itself and not as one of a group
                problem = exc
            finally:
                for task in tuple(tasks):
                    task.cancel()
    if problem:
        raise problem


@contextlib.contextmanager
def _closing(offers: "asyncio.Queue[sockets.socket]") -> Iterator[None]:
    """Closes the offers that were not used, even if cancelled."""
    try:
        yield
    finally:
        while not offers.empty():
            offers.get_nowait().close()


class _Forwarder:
    """Joins visitors to connections that the sandbox has offered."""

    def __init__(
        self, offers: asyncio.Queue[sockets.socket], group: asyncio.TaskGroup, tasks: set[asyncio.Task[None]]
    ) -> None:
        self._offers = offers
        self._group = group
        self._tasks = tasks
        self._visitors = 0

    def receive(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._visitors >= share_of_limit(_PART_OF_DESCRIPTORS, most=_MAX_VISITORS):
            writer.close()
            return
        task = self._group.create_task(self._forward(port, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forward(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Raises nothing: the trouble of a connection must not affect others."""
        self._visitors += 1
        try:
            async with asyncio.timeout(_OFFER_SECONDS):
                inner = await self._take_offer(port)
            inner_reader, inner_writer = await asyncio.open_unix_connection(sock=inner)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(_forward_request(reader, inner_writer, writer))
                    both.create_task(_pump(inner_reader, writer))
            finally:
                inner_writer.close()
        except (OSError, TimeoutError):
            return
        finally:
            self._visitors -= 1
            writer.close()

    async def _take_offer(self, port: int) -> sockets.socket:
        """Sends the port through the offered connection; skips offers that have been closed meanwhile."""
        loop = asyncio.get_running_loop()
        while True:
            inner = await self._offers.get()
            try:
                await loop.sock_sendall(inner, port.to_bytes(2))
            except OSError:
                inner.close()
                continue
            return inner


async def _accept_offers(listener: sockets.socket, offers: asyncio.Queue[sockets.socket]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        offered, _ = await loop.sock_accept(listener)
        try:
            await offers.put(offered)
        except asyncio.CancelledError:
            offered.close()
            raise


async def _listen(port: int, forwarder: _Forwarder, stack: contextlib.AsyncExitStack, *, required: bool) -> None:
    try:
        server = await asyncio.start_server(
            lambda reader, writer: forwarder.receive(port, reader, writer), _LOOPBACK, port
        )
    except OSError as exc:
        if not required:
            return
        if exc.errno == errno.EADDRINUSE:
            raise NeedsHuman(
                f"Port {port} is in use on this machine. A server of this run may be running already."
            ) from exc
        raise NeedsHuman(f"Port {port} cannot be opened on this machine: {exc.strerror}.") from exc
    stack.callback(server.close)


async def _forward_request(
    reader: asyncio.StreamReader, inner: asyncio.StreamWriter, back: asyncio.StreamWriter
) -> None:
    try:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = await _read_head(reader)
    except TimeoutError:
        back.close()
        inner.close()
        return
    except OSError:
        head = b""
    if head is None:
        back.write(_MISDIRECTED)
        inner.close()
        return
    inner.write(head)
    await _pump(reader, inner)


async def _read_head(reader: asyncio.StreamReader) -> bytes | None:
    """Reads until it is clear whether this is HTTP for `localhost`. Returns None if it must not be forwarded."""
    received = b""
    while _is_undecided(received):
        if len(received) > _MAX_HEAD_BYTES:
            return None
        more = await reader.read(_CHUNK)
        if not more:
            break
        received += more
    return None if _HTTP.match(received) and not _is_for_localhost(received) else received


def _is_undecided(received: bytes) -> bool:
    if _HTTP.match(received):
        return not _HEAD_END.search(received)
    return b"\n" not in received and _MAY_BECOME_HTTP.fullmatch(received) is not None


def _is_for_localhost(received: bytes) -> bool:
    names = _HOST_HEADER.findall(_HEAD_END.split(received, maxsplit=1)[0])
    return len(names) == 1 and _LOCALHOST.fullmatch(names[0].strip(b" \t")) is not None


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
    with contextlib.suppress(OSError):
        target.write_eof()
