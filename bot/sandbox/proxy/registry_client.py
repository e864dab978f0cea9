"""Client of a real registry, over TLS whose certificate names it."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import h11

from bot.sandbox.proxy.connection import ConnectionGone
from bot.sandbox.proxy.grant import ProxyRefusal
from bot.sandbox.proxy.network import Connector, Streams
from bot.sandbox.proxy.registry import Registry

_CHUNK = 64 * 1024
_MAX_HEAD_BYTES = 64 * 1024
_HANDSHAKE_SECONDS = 15.0
_ANSWER_SECONDS = 120.0


def _new_http() -> h11.Connection:
    return h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)


@dataclass(slots=True)
class RegistryClient:
    """Connection to the real registry, which is kept for further requests, and made again if it was closed."""

    registry: Registry
    trusted: ssl.SSLContext
    connect: Connector
    _streams: Streams | None = None
    _http: h11.Connection = field(default_factory=_new_http)

    async def ask(self, request: h11.Request) -> h11.Response:
        """Returns the head of the answer. Raises ProxyRefusal."""
        if self._streams and (self._http.our_state, self._http.their_state) == (h11.DONE, h11.DONE):
            self._http.start_next_cycle()
            with contextlib.suppress(OSError, h11.RemoteProtocolError, EOFError):
                return await self._exchange(request)
        self.close()
        try:
            await self._connect()
            return await self._exchange(request)
        except (OSError, h11.RemoteProtocolError, EOFError) as problem:
            raise ProxyRefusal(502, f"{self.registry.host} does not answer.") from problem

    async def body(self) -> AsyncIterator[bytes]:
        """Raises ConnectionGone if the answer is incomplete."""
        try:
            while not isinstance(event := await self._next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Data):
                    yield bytes(event.data)
        except (OSError, h11.RemoteProtocolError, EOFError) as problem:
            raise ConnectionGone from problem

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams, self._http = None, _new_http()

    async def _connect(self) -> None:
        reader, writer = await self.connect()
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                await writer.start_tls(self.trusted, server_hostname=self.registry.host.host)
        except ssl.SSLCertVerificationError as problem:
            writer.close()
            attempt = f"download from {self.registry.host}, whose certificate is not trusted: {problem.verify_message}"
            raise ProxyRefusal(
                502, f"The certificate of {self.registry.host} is not trusted.", attempt=attempt
            ) from problem
        except BaseException:
            writer.close()
            raise
        self._streams = reader, writer

    async def _exchange(self, request: h11.Request) -> h11.Response:
        assert self._streams
        writer = self._streams[1]
        writer.write((self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b""))
        await writer.drain()
        while not isinstance(event := await self._next_event(), h11.Response):
            pass  # a server may announce its answer
        return event

    async def _next_event(self) -> object:
        assert self._streams
        async with asyncio.timeout(_ANSWER_SECONDS):
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._streams[0].read(_CHUNK))
        if isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            raise EOFError
        return event
