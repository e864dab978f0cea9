"""A proxy between a sandbox's socket and servers of the test: all connections stay on loopback."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import h11
import httpx

from bot.domain.price import Price
from bot.sandbox.proxy.grant import DayBudget, Grant, ModelUpstream, SandboxUsage, ignore_usage
from bot.sandbox.proxy.network import Network
from bot.sandbox.proxy.server import SandboxProxy

TOKEN = "pass-1"
KEY = "the-real-key"
PUBLIC = "93.184.215.14"
"""Stands for the internet: the test's dial function connects it to a server of the test."""

Write = Callable[[bytes], Awaitable[None]]
Play = Callable[["Heard", Write], Awaitable[object]]


class Leave:
    """Returned by a play to end the connection with the response."""


@dataclass
class Heard:
    """A request as the model's service received it."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.headers}

    def header(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known == name]


def usage(input_tokens: int = 10, output_tokens: int = 5) -> dict:
    return {"input_tokens": input_tokens, "output_tokens": output_tokens}


def answer_of(status: int, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status} Fine", f"content-type: {kind}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def whole(**more) -> bytes:
    return answer_of(200, json.dumps({"type": "message", "usage": usage(), **more}).encode())


def event(kind: str, **more) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


STREAM_HEAD = b"HTTP/1.1 200 Fine\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
START = event("message_start", message={"usage": usage(100, 1) | {"cache_read_input_tokens": 7}})
TEXT = event("content_block_delta", delta={"type": "text_delta", "text": 'It says "usage": {"output_tokens": 9000000}'})
END = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 50}) + event("message_stop")


async def politely(heard: Heard, write: Write) -> None:
    await write(answer_of(200, b'{"input_tokens": 3}') if heard.target.endswith("count_tokens") else whole())


@dataclass
class Service:
    """A stand-in for the model's service."""

    play: Play = politely
    heard: list[Heard] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """A connection was closed before its answer had ended."""
    url: str = ""
    visitors: dict[asyncio.Task, asyncio.StreamWriter] = field(default_factory=dict)

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visitors[asyncio.current_task()] = writer

        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        try:
            while heard := await _heard(reader):
                self.heard.append(heard)
                left = asyncio.ensure_future(reader.read(1))
                playing = asyncio.ensure_future(self.play(heard, write))
                await asyncio.wait({left, playing}, return_when=asyncio.FIRST_COMPLETED)
                if not playing.done():
                    self.hung_up.set()
                    playing.cancel()
                    return
                left.cancel()
                await asyncio.wait({left})
                if await playing is Leave:
                    return
        finally:
            writer.close()


async def _heard(reader: asyncio.StreamReader) -> Heard | None:
    http = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    request, body = None, b""
    while True:
        match http.next_event():
            case h11.NEED_DATA:
                data = await reader.read(65536)
                if not data:
                    return None
                http.receive_data(data)
            case h11.Request() as request:
                pass
            case h11.Data(data=data):
                body += data
            case h11.EndOfMessage():
                headers = [(name.decode(), value.decode("latin-1")) for name, value in request.headers]
                return Heard(request.method.decode(), request.target.decode(), headers, bytes(body))


@asynccontextmanager
async def serving(play: Play = politely) -> AsyncIterator[Service]:
    service = Service(play)
    server = await asyncio.start_server(service.receive, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()
        await _see_out(service.visitors)


async def _see_out(visitors: dict[asyncio.Task, asyncio.StreamWriter]) -> None:
    for writer in visitors.values():
        with contextlib.suppress(AttributeError):  # of Python 3.11.2, if the TLS connection has ended
            writer.transport.abort()
    if visitors:
        await asyncio.wait(visitors)


@dataclass
class Internet:
    """Names and addresses with one server behind all of them, which records connections."""

    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    """Answers to the queries for each name, in order; the last answer repeats."""
    resolved: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    tls: ssl.SSLContext | None = None
    port: int = 0
    visitors: dict[asyncio.Task, asyncio.StreamWriter] = field(default_factory=dict)

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.resolved.append(host)
        answers = self.names.get(host)
        if not answers:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def dial(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.dialled.append((address, port))
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Echoes what it receives; at the end of input it says bye and closes."""
        self.visitors[asyncio.current_task()] = writer
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                self.received += data
                writer.write(data)
                await writer.drain()
            writer.write(b"bye")
        self.ended.set()
        writer.close()


@asynccontextmanager
async def internet(tls: ssl.SSLContext | None = None, **names: list[Sequence[str]]) -> AsyncIterator[Internet]:
    made = Internet({name.replace("_", "."): answers for name, answers in names.items()}, tls=tls)
    server = await asyncio.start_server(made.receive, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await _see_out(made.visitors)


@dataclass
class Sandbox:
    """The sandbox's side: only a socket."""

    socket: Path
    usage: SandboxUsage

    def client(self, **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=str(self.socket), verify=False),
            base_url="http://proxy",
            headers={"x-api-key": TOKEN, **headers},
            timeout=20,
            verify=False,  # and no certificates are read for it
        )

    async def ask(self, path: str = "/v1/messages", **more) -> httpx.Response:
        async with self.client() as client:
            return await client.post(path, json=asking(**more))

    async def raw(self, data: bytes) -> bytes:
        """Returns all bytes until the proxy closes the connection; sends nothing more."""
        async with self.connection() as (reader, writer):
            with contextlib.suppress(OSError):
                writer.write(data)
                await writer.drain()
            return await asyncio.wait_for(_all(reader), 10)

    async def connect(self, target: str, opening: bytes = b"") -> bytes:
        """Returns the first response to CONNECT."""
        async with self.connection() as (reader, writer):
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode() + opening)
            return await reader.readuntil(b"\r\n\r\n")

    @asynccontextmanager
    async def tunnel(self, target: str, opening: bytes) -> AsyncIterator[tuple]:
        async with self.connection() as (reader, writer):
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            writer.write(opening)
            yield reader, writer

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[tuple]:
        reader, writer = await asyncio.open_unix_connection(str(self.socket))
        try:
            yield reader, writer
        finally:
            writer.close()


async def _all(reader: asyncio.StreamReader) -> bytes:
    received = b""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            received += data
    return received


def asking(model: str = "claude-opus-5-5", **more) -> dict:
    said = [{"role": "user", "content": "Hello."}]
    return {"model": model, "max_tokens": 100, "messages": said, **more}


@asynccontextmanager
async def sandbox(
    folder: Path,
    service: Service | None = None,
    net: Internet | None = None,
    *,
    on_usage=ignore_usage,
    day: DayBudget | None = None,
    prices: Mapping[str, Price] | None = None,
    **grant,
) -> AsyncIterator[Sandbox]:
    upstream = ModelUpstream(service.url, {"x-api-key": KEY}) if service else None
    outside = {"resolve": net.resolve, "dial": net.dial} if net else {}
    grant = {"token": TOKEN, **grant, "hosts": frozenset(grant.get("hosts", ()))}
    proxy = SandboxProxy(upstream, network=Network(**outside), prices=prices or {}, day=day)
    async with proxy.open(folder / "proxy", Grant(**grant), on_usage) as usage:
        yield Sandbox(folder / "proxy", usage)


def client_hello(name: str | None, *, tls: ssl.SSLContext | None = None) -> bytes:
    """Returns a TLS ClientHello as a real client sends it."""
    context = tls or ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()
