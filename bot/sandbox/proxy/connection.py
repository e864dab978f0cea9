"""Connection of a sandbox to the proxy: speaks HTTP/1.1, trusts no input, and limits size and time of everything."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence

import h11

from bot.sandbox.proxy.grant import ProxyRefusal

_CHUNK = 64 * 1024
_MAX_HEAD_BYTES = 64 * 1024
_MAX_PIPELINED_BYTES = 1024 * 1024
_HEAD_SECONDS = 30.0
_BODY_SECONDS = 120.0
_IDLE_SECONDS = 600.0
_LAST_BYTES_SECONDS = 1.0
_SERVER_ERROR = 500
_KINDS = {400: "invalid_request_error", 403: "permission_error", 413: "request_too_large", 429: "rate_limit_error"}


HeaderList = Sequence[tuple[bytes, bytes]]


class ConnectionGone(Exception):
    """The sandbox has closed the connection, or sends nothing."""


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._wants_body = True

    async def request(self) -> h11.Request:
        """Reads the next request. Raises ConnectionGone, or ProxyRefusal if it is not HTTP."""
        if self._http.our_state is not h11.IDLE:
            self._start_next_cycle()
        deadline = asyncio.timeout(_IDLE_SECONDS)
        async with _time_limited(deadline):
            while (event := self._next_event()) is h11.NEED_DATA:
                await self._receive_bytes()
                if self._http.trailing_data[0]:  # a request that has begun must be complete soon
                    deadline.reschedule(min(deadline.when() or 0.0, asyncio.get_running_loop().time() + _HEAD_SECONDS))
        if not isinstance(event, h11.Request):
            raise ConnectionGone
        self._wants_body = event.method != b"HEAD"
        _refuse_smuggling(event)
        return event

    async def body(self, max_bytes: int) -> bytes:
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        received = bytearray()
        async with _time_limited(asyncio.timeout(_BODY_SECONDS)):
            while not isinstance(event := self._next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    await self._receive_bytes()
                elif isinstance(event, h11.Data):
                    received += event.data
                else:
                    raise ConnectionGone
                if len(received) > max_bytes:
                    raise ProxyRefusal(413, f"The request is larger than {max_bytes // 1024 // 1024} MiB.")
        return bytes(received)

    async def wait_until_closed(self) -> None:
        """Waits while a response is sent. Keeps pipelined bytes for the next request."""
        pipelined = 0
        while pipelined < _MAX_PIPELINED_BYTES:
            try:
                data = await self._reader.read(_CHUNK)
            except OSError:
                return
            if not data:
                return
            pipelined += len(data)
            self._http.receive_data(data)

    async def start_response(self, status: int, headers: HeaderList) -> None:
        await self._send(h11.Response(status_code=status, headers=list(headers)))

    async def send_data(self, data: bytes) -> None:
        await self._send(h11.Data(data=data))

    async def end_response(self) -> None:
        await self._send(h11.EndOfMessage())

    async def respond(self, status: int, body: bytes = b"", headers: HeaderList = ()) -> None:
        await self.start_response(status, [(b"content-length", b"%d" % len(body)), *headers])
        if body and self._wants_body:
            await self.send_data(body)
        await self.end_response()

    async def refuse(self, refusal: ProxyRefusal) -> None:
        """Answers with the refusal and closes; what else the sandbox sends is discarded."""
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        kind = _KINDS.get(refusal.status, "api_error")
        body = json.dumps({"type": "error", "error": {"type": kind, "message": refusal.reason}}).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        if refusal.status < _SERVER_ERROR:
            headers.append((b"x-should-retry", b"false"))
        await self.respond(refusal.status, body, headers)
        await self._drain()

    async def detach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
        """Ends HTTP on this connection. The bytes are those that came before the tunnel was open."""
        if not isinstance(self._next_event(), h11.EndOfMessage):
            raise ProxyRefusal(400, "A request for a tunnel has no body.")
        await self._send(h11.Response(status_code=200, headers=[]))
        return self._reader, self._writer, self._http.trailing_data[0]

    def _next_event(self) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as exc:
            raise ProxyRefusal(
                exc.error_status_hint, "The request is not valid HTTP.", attempt="send invalid HTTP"
            ) from exc

    def _start_next_cycle(self) -> None:
        if self._http.their_state is h11.SEND_BODY:
            self._next_event()
        if (self._http.our_state, self._http.their_state) != (h11.DONE, h11.DONE):
            raise ConnectionGone  # the connection had sent its last request
        self._http.start_next_cycle()

    async def _receive_bytes(self) -> None:
        try:
            data = await self._reader.read(_CHUNK)
        except OSError as exc:
            raise ConnectionGone from exc
        if not data:
            raise ConnectionGone
        self._http.receive_data(data)

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if not data:
            return
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as exc:
            raise ConnectionGone from exc

    async def _drain(self) -> None:
        """Reads the rest: closing while the sandbox still sends would lose the answer."""
        with contextlib.suppress(OSError, TimeoutError):
            if self._writer.can_write_eof():  # not in TLS
                self._writer.write_eof()
            async with asyncio.timeout(_LAST_BYTES_SECONDS):
                while await self._reader.read(_CHUNK):
                    pass


@contextlib.asynccontextmanager
async def _time_limited(deadline: asyncio.Timeout) -> AsyncIterator[None]:
    try:
        async with deadline:
            yield
    except TimeoutError as exc:
        raise ConnectionGone from exc


def _refuse_smuggling(request: h11.Request) -> None:
    names = [name for name, _ in request.headers]
    if sum(len(name) + len(value) + 4 for name, value in request.headers) + len(request.target) > _MAX_HEAD_BYTES:
        raise ProxyRefusal(431, "The headers are too long.", attempt="send invalid HTTP")
    if b"transfer-encoding" in names and b"content-length" in names:
        raise ProxyRefusal(400, "The request has two lengths.", attempt="smuggle a request into another")
