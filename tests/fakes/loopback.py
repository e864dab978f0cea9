"""HTTP servers on free ports, each in a thread of its own, whose connections can be cut.

A thread and its event loop serve one test after the other: to start and end a whole server for each takes longer than
most tests.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

_SECONDS = 10.0


class _Wire(H11Protocol):
    """A connection that knows its transport."""

    transports: dict[tuple[str, int], Any] = {}  # noqa: RUF012 - one address is one connection

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.transports[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transports.pop(self.client, None)
        super().connection_lost(exc)


class _Thread:
    """Runs an event loop for as long as the process lives."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True, name="stand-in").start()

    def run(self, task: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(task, self.loop).result(_SECONDS)


_idle: dict[int, list[_Thread]] = {}
"""Threads that serve nothing, by process: a forked one has none."""


def cut(client: tuple[str, int]) -> None:
    """Cuts the connection at once."""
    _Wire.transports[client].abort()


def end_after(client: tuple[str, int]) -> None:
    """Ends the connection after what was written."""
    _Wire.transports[client].close()


def _listening() -> socket.socket:
    # Named as TCP; otherwise asyncio does not send small responses at once.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(100)
    return sock


async def _serve(config: uvicorn.Config, state: ServerState, sock: socket.socket) -> asyncio.Server:
    return await asyncio.get_running_loop().create_server(lambda: _Wire(config, state, {}), sock=sock)


async def _end(server: asyncio.Server, state: ServerState) -> None:
    server.close()
    for connection in list(state.connections):
        connection.transport.abort()
    tasks = list(state.tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """Yields the address while the server runs."""
    config = uvicorn.Config(
        app, http=_Wire, log_config=None, log_level="critical", lifespan="off", access_log=False,
        date_header=False, server_header=False,
    )  # fmt: skip
    config.load()
    sock, state = _listening(), ServerState()
    idle = _idle.setdefault(os.getpid(), [])
    thread = idle.pop() if idle else _Thread()
    server = thread.run(_serve(config, state, sock))
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        thread.run(_end(server, state))
        sock.close()
        idle.append(thread)
