"""One caller on a sandbox's socket: speaks HTTP/1.1 with it, trusts nothing it says, and never waits long for it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence

import h11

from bot.sandbox.proxy.grant import Refusal

_CHUNK = 64 * 1024
_MOST_HEAD = 64 * 1024
_MOST_AHEAD = 1024 * 1024
_HEAD_SECONDS = 30.0
_BODY_SECONDS = 120.0
_IDLE_SECONDS = 600.0
_PARTING_SECONDS = 1.0
_THEIR_FAULT = 500
_KINDS = {400: "invalid_request_error", 403: "permission_error", 413: "request_too_large", 429: "rate_limit_error"}


Headers = Sequence[tuple[bytes, bytes]]


class Gone(Exception):
    """The caller has left, or stays silent."""


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        self._wants_body = True

    async def request(self) -> h11.Request:
        """The next one. Raises Gone, or Refusal when it is no HTTP."""
        if self._http.our_state is not h11.IDLE:
            self._begin_next()
        patience = asyncio.timeout(_IDLE_SECONDS)
        async with _patient(patience):
            while (event := self._next()) is h11.NEED_DATA:
                await self._receive()
                if self._http.trailing_data[0]:  # it has begun, so it can be brought to its end
                    patience.reschedule(min(patience.when() or 0.0, asyncio.get_running_loop().time() + _HEAD_SECONDS))
        if not isinstance(event, h11.Request):
            raise Gone
        self._wants_body = event.method != b"HEAD"
        _ensure_plain(event)
        return event

    async def body(self, most: int) -> bytes:
        if self._http.they_are_waiting_for_100_continue:
            await self._say(h11.InformationalResponse(status_code=100, headers=[]))
        received = bytearray()
        async with _patient(asyncio.timeout(_BODY_SECONDS)):
            while not isinstance(event := self._next(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    await self._receive()
                elif isinstance(event, h11.Data):
                    received += event.data
                else:
                    raise Gone
                if len(received) > most:
                    raise Refusal(413, f"That is more than {most // 1024 // 1024} MiB.")
        return bytes(received)

    async def until_gone(self) -> None:
        """While it is being answered. What it sends meanwhile is kept for later."""
        ahead = 0
        while ahead < _MOST_AHEAD:
            try:
                data = await self._reader.read(_CHUNK)
            except OSError:
                return
            if not data:
                return
            ahead += len(data)
            self._http.receive_data(data)

    async def begin(self, status: int, headers: Headers) -> None:
        await self._say(h11.Response(status_code=status, headers=list(headers)))

    async def give(self, data: bytes) -> None:
        await self._say(h11.Data(data=data))

    async def end(self) -> None:
        await self._say(h11.EndOfMessage())

    async def answer(self, status: int, body: bytes = b"", headers: Headers = ()) -> None:
        await self.begin(status, [(b"content-length", b"%d" % len(body)), *headers])
        if body and self._wants_body:
            await self.give(body)
        await self.end()

    async def refuse(self, refusal: Refusal) -> None:
        """The last thing it hears: what else it may be sending is of no interest."""
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        kind = _KINDS.get(refusal.status, "api_error")
        body = json.dumps({"type": "error", "error": {"type": kind, "message": refusal.reason}}).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        if refusal.status < _THEIR_FAULT:
            headers.append((b"x-should-retry", b"false"))
        await self.answer(refusal.status, body, headers)
        await self._part()

    async def hand_over(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
        """From here on it is no HTTP any more. The bytes came too early to be read by others."""
        if not isinstance(self._next(), h11.EndOfMessage):
            raise Refusal(400, "A request for a tunnel has no body.")
        await self._say(h11.Response(status_code=200, headers=[]))
        return self._reader, self._writer, self._http.trailing_data[0]

    def _next(self) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as exc:
            raise Refusal(
                exc.error_status_hint, "That is no proper HTTP.", tried="send what is no proper HTTP"
            ) from exc

    def _begin_next(self) -> None:
        if self._http.their_state is h11.SEND_BODY:
            self._next()
        if (self._http.our_state, self._http.their_state) != (h11.DONE, h11.DONE):
            raise Gone  # that was the last one
        self._http.start_next_cycle()

    async def _receive(self) -> None:
        try:
            data = await self._reader.read(_CHUNK)
        except OSError as exc:
            raise Gone from exc
        if not data:
            raise Gone
        self._http.receive_data(data)

    async def _say(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if not data:
            return
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as exc:
            raise Gone from exc

    async def _part(self) -> None:
        """Closing while it still sends would cost it the answer."""
        with contextlib.suppress(OSError, TimeoutError):
            self._writer.write_eof()
            async with asyncio.timeout(_PARTING_SECONDS):
                while await self._reader.read(_CHUNK):
                    pass


@contextlib.asynccontextmanager
async def _patient(patience: asyncio.Timeout) -> AsyncIterator[None]:
    try:
        async with patience:
            yield
    except TimeoutError as exc:
        raise Gone from exc


def _ensure_plain(request: h11.Request) -> None:
    names = [name for name, _ in request.headers]
    if sum(len(name) + len(value) + 4 for name, value in request.headers) + len(request.target) > _MOST_HEAD:
        raise Refusal(431, "Those headers are too long.", tried="send what is no proper HTTP")
    if b"transfer-encoding" in names and b"content-length" in names:
        raise Refusal(400, "That request has two lengths.", tried="smuggle a request into another")
