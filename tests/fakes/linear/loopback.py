"""HTTP server on a free port, in its own thread, whose connections can be cut."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol


class _Wire(H11Protocol):
    """A connection that knows its transport."""

    transports: dict[tuple[str, int], Any] = {}  # noqa: RUF012 - one address is one connection

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.transports[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transports.pop(self.client, None)
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """A server that stops at once."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ended = threading.Event()

    async def main_loop(self) -> None:
        await asyncio.to_thread(self.ended.wait)


def cut(client: tuple[str, int]) -> None:
    """Cuts the connection at once."""
    _Wire.transports[client].abort()


def _listening() -> socket.socket:
    # Named as TCP; otherwise asyncio does not send small responses at once.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(100)
    return sock


@contextmanager
def listening(app: Any, name: str) -> Iterator[str]:
    """Yields the address while the server runs."""
    config = uvicorn.Config(
        app, http=_Wire, log_config=None, log_level="critical", lifespan="off", access_log=False,
        date_header=False, server_header=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    sock = _listening()
    server = _Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True, name=name)
    thread.start()
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.force_exit = True
        server.ended.set()
        thread.join(10)
        sock.close()
