"""HTTP server: runs the web app with uvicorn inside the daemon's event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.applications import Starlette

from bot.errors import CannotStart
from bot.web.connection_limits import LimitedConnection

_NEIGHBOURS = 20
"""Ports after the wanted one that are tried first, so that the address stays short and much the same."""


class _ServerWithoutSignals(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The daemon handles signals."""
        yield


@contextlib.asynccontextmanager
async def serving(app: Starlette, bind: str) -> AsyncIterator[int]:
    """Yields the port; stops the server at the end of the block."""
    with _listen(bind) as listener:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
            server_header=False,
            proxy_headers=False,
            http=LimitedConnection,
        )
        server = _ServerWithoutSignals(config)
        async with asyncio.TaskGroup() as group:
            serve = group.create_task(server.serve(sockets=[listener]))
            try:
                yield listener.getsockname()[1]
            finally:
                server.should_exit = True
                await asyncio.wait([serve])


def find_free_port(host: str, wanted: int) -> int:
    """Returns this port of the loopback if it is free, or one of the next, or any. Listens on none of them."""
    for port in (*range(wanted, wanted + _NEIGHBOURS), 0):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            return int(listener.getsockname()[1])
    raise CannotStart(f"No port of {host} is free for the dashboard.")


def _listen(bind: str) -> socket.socket:
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # uvicorn sends small answers at once only if the protocol is set
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(128)
    except OSError as exc:
        listener.close()
        raise CannotStart(
            f"web.bind = {bind!r} is not available: {exc.strerror}. "
            "Set another address, or an empty one to switch the dashboard off."
        ) from exc
    return listener
