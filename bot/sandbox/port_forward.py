"""The porch: how a person's browser gets to a server in a sandbox, which has a network of its own.

Rule: the programs in there dial out to us, as they do at the gate; the host opens nothing that is theirs to name. It is
bound to this machine's loopback alone.
"""

import asyncio
import contextlib
import errno
import socket as sockets
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bot.errors import BotError, NeedsHuman
from bot.sandbox.greeting import REFUSAL, read_greeting
from bot.sandbox.proxy.server import listening

_LOOPBACK = "127.0.0.1"
_CHUNK = 1 << 16
_MOST_CALLERS = 256
_MOST_WAITING = 16
_SECONDS = 10.0
"""For one of those in there to offer itself."""


@asynccontextmanager
async def porch(socket: Path, ports: Sequence[int]) -> AsyncIterator[None]:
    """Whoever connects to one of these, on this machine, is led to the same one in there. The first must be free."""
    waiting: asyncio.Queue[sockets.socket] = asyncio.Queue(_MOST_WAITING)
    problem: BotError | None = None
    with listening(socket) as listener, _closing(waiting):
        async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            tasks = {group.create_task(_take_offers(listener, waiting))}
            leading = _Leading(waiting, group, tasks)
            try:
                for port in ports:
                    await _open(port, leading, stack, must=port == ports[0])
                yield
            except BotError as exc:  # raised again below, as itself and not as one of a group
                problem = exc
            finally:
                for task in tuple(tasks):
                    task.cancel()
    if problem:
        raise problem


@contextlib.contextmanager
def _closing(waiting: "asyncio.Queue[sockets.socket]") -> Iterator[None]:
    """Those that nobody called; also where it is ended in the middle of something."""
    try:
        yield
    finally:
        while not waiting.empty():
            waiting.get_nowait().close()


class _Leading:
    """Takes callers to those in there that have offered themselves."""

    def __init__(
        self, waiting: asyncio.Queue[sockets.socket], group: asyncio.TaskGroup, tasks: set[asyncio.Task[None]]
    ) -> None:
        self._waiting = waiting
        self._group = group
        self._tasks = tasks
        self._callers = 0

    def receive(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._callers >= _MOST_CALLERS:
            writer.close()
            return
        task = self._group.create_task(self._lead(port, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _lead(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One caller's trouble is no other's."""
        self._callers += 1
        try:
            async with asyncio.timeout(_SECONDS):
                inner = await self._taken(port)
            inner_reader, inner_writer = await asyncio.open_unix_connection(sock=inner)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(_lead_on(reader, inner_writer, writer))
                    both.create_task(_pump(inner_reader, writer))
            finally:
                inner_writer.close()
        except (OSError, TimeoutError):
            return
        finally:
            self._callers -= 1
            writer.close()

    async def _taken(self, port: int) -> sockets.socket:
        """Told where to; one that has gone meanwhile is passed over."""
        loop = asyncio.get_running_loop()
        while True:
            inner = await self._waiting.get()
            try:
                await loop.sock_sendall(inner, port.to_bytes(2))
            except OSError:
                inner.close()
                continue
            return inner


async def _take_offers(listener: sockets.socket, waiting: asyncio.Queue[sockets.socket]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        offered, _ = await loop.sock_accept(listener)
        try:
            await waiting.put(offered)
        except asyncio.CancelledError:
            offered.close()
            raise


async def _open(port: int, leading: _Leading, stack: contextlib.AsyncExitStack, *, must: bool) -> None:
    try:
        server = await asyncio.start_server(
            lambda reader, writer: leading.receive(port, reader, writer), _LOOPBACK, port
        )
    except OSError as exc:
        if not must:
            return
        if exc.errno == errno.EADDRINUSE:
            raise NeedsHuman(
                f"Port {port} is in use on this machine: is one of this run's servers up already?"
            ) from exc
        raise NeedsHuman(f"Port {port} cannot be opened on this machine: {exc.strerror}.") from exc
    stack.callback(server.close)


async def _lead_on(reader: asyncio.StreamReader, inner: asyncio.StreamWriter, back: asyncio.StreamWriter) -> None:
    """Nobody in there hears a word of whoever came by a wrong name."""
    try:
        said = await read_greeting(reader)
    except OSError:
        said = b""
    if said is None:
        back.write(REFUSAL)
        inner.close()
        return
    inner.write(said)
    await _pump(reader, inner)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
    with contextlib.suppress(OSError):
        target.write_eof()
