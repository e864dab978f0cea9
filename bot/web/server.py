"""Serves the pages inside the daemon's own loop, and leaves the signals to the daemon."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.applications import Starlette

from bot.errors import CannotStart


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They are the daemon's."""
        yield


@contextlib.asynccontextmanager
async def serving(pages: Starlette, bind: str) -> AsyncIterator[int]:
    """From now until the block ends; the port it got."""
    with _listening(bind) as listener:
        config = uvicorn.Config(
            pages,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
            server_header=False,
            proxy_headers=False,
        )
        server = _Quiet(config)
        async with asyncio.TaskGroup() as group:
            serve = group.create_task(server.serve(sockets=[listener]))
            try:
                yield listener.getsockname()[1]
            finally:
                server.should_exit = True
                await asyncio.wait([serve])


def _listening(bind: str) -> socket.socket:
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # said, so that small answers are sent at once
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(128)
    except OSError as exc:
        listener.close()
        raise CannotStart(
            f"web.bind = {bind!r} cannot be used: {exc.strerror}. Set another one, or an empty one for none."
        ) from exc
    return listener
