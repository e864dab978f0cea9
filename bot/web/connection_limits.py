"""Connection limits: closes connections whose request does not arrive in time, and makes room for new ones.

Requests that a proxy could read in another way are refused as well.

Rule: a connection that owes us a part of its request waits for nobody. When there are too many, the oldest of these is
closed, so that a client that sends its request at once is always served.
"""

import asyncio
import re
from collections.abc import Iterable
from typing import Any, cast

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

from bot.system.descriptors import share_of_limit

HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
MOST_CONNECTIONS = 256
_PART_OF_DESCRIPTORS = 4
_SECONDS = {h11.IDLE: HEAD_SECONDS, h11.SEND_BODY: BODY_SECONDS}
"""Time for the rest of a request, by the state of the client."""


_AMBIGUOUS = re.compile(rb"(?<!\r)\n|\n[ \t]")
"""A line that ends with a line feed alone, or continues the one before."""


class _StrictBuffer(ReceiveBuffer):
    """Refuses heads and trailers whose lines a proxy before us could divide in another way."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        received = bytes(self._data)
        lines = super().maybe_extract_lines()
        if lines is not None and _AMBIGUOUS.search(received, 0, len(received) - len(self._data)):
            raise h11.RemoteProtocolError("a line ends with a line feed alone, or is folded")
        return lines


class LimitedConnection(H11Protocol):
    """uvicorn's own protocol, with time limits and without ambiguous lines."""

    _awaited: object = None
    """The state in which we wait for the client."""
    _deadline: asyncio.TimerHandle | None = None
    _began: float = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._began = self.loop.time()
        self.conn._receive_buffer = _StrictBuffer()  # noqa: SLF001 - h11 has no setting for it
        super().connection_made(transport)
        _make_room(cast("Iterable[Any]", self.connections), self)
        self._watch_client()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_client()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_client()

    def send_400_response(self, msg: str) -> None:
        """A page may be answering the request already, and finds out that nobody listens."""
        if self.cycle is None or self.cycle.response_complete:
            super().send_400_response(msg)
            return
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    @property
    def owes_request(self) -> bool:
        return self._awaited is not None

    @property
    def began(self) -> float:
        return self._began

    def _watch_client(self) -> None:
        """A client that sends a little now and then gets no more time."""
        awaited = state if (state := self.conn.their_state) in _SECONDS else None
        if awaited is self._awaited:
            return
        self._stop_watching()
        if awaited is not None and not self.transport.is_closing():
            self._awaited = awaited
            self._deadline = self.loop.call_later(_SECONDS[awaited], self.transport.abort)

    def _stop_watching(self) -> None:
        self._awaited = None
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


def _make_room(connections: Iterable[LimitedConnection], newest: LimitedConnection) -> None:
    """Closes the newest only if all others have sent their requests."""
    open_ones = [one for one in connections if not one.transport.is_closing()]
    if len(open_ones) <= share_of_limit(_PART_OF_DESCRIPTORS, most=MOST_CONNECTIONS):
        return
    waiting = [one for one in open_ones if one.owes_request]
    min(waiting, key=lambda one: one.began, default=newest).transport.abort()
