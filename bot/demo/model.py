"""A stand-in for the model: it answers the agent's real program over loopback, from a script instead of a mind.

It keeps nothing between requests: what it says follows from the conversation it is shown, so that a story that was
killed half-way goes on where it was.
"""

import asyncio
import contextlib
import hashlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, assert_never

from bot.demo import messages_api as api
from bot.demo.messages_api import Json, Request

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """Use a tool."""

    tool: str
    input: Json


@dataclass(frozen=True, slots=True)
class Wait:
    """Think for so long, or until somebody sets the event."""

    seconds: float = 0.0
    until: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Refuse with an HTTP status. Only as the first step."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CutStream:
    """Close the connection after so many events of the stream."""

    after: int = 1


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer."""


Step = Say | Use | Wait | Status | CutStream | Hang
Reply = Sequence[Step]
Play = Callable[[Request], Reply]

_ASIDE: Reply = (Say("A task"),)
_PING_SECONDS = 2.0


class _Cut(Exception):
    """End this connection here."""


def _listening(port: int) -> socket.socket:
    """Says that it is TCP, so that small answers are sent at once."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


class ScriptedModel:
    """A server of the Messages API inside the caller's event loop, for as long as the `async with` block lasts."""

    def __init__(self, play: Play, *, port: int = 0) -> None:
        self._play = play
        self._socket = _listening(port)
        self._group = asyncio.TaskGroup()
        self._closing = asyncio.Event()
        self._broken: list[Exception] = []
        self.requests: list[Request] = []
        """The agents' requests, oldest first."""
        self.asides: list[Request] = []
        self.keys: list[str] = []
        """The credential of each request."""
        self.asked = asyncio.Condition()
        """Notified at every request of an agent."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def until_asked(self, times: int = 1) -> None:
        """Return when agents have made so many requests in all."""
        async with self.asked:
            await self.asked.wait_for(lambda: len(self.requests) >= times)

    async def __aenter__(self) -> Self:
        import uvicorn

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # signals are the caller's

        config = uvicorn.Config(self._app(), log_config=None, log_level="critical", lifespan="off", access_log=False)
        self._server = Server(config)
        await self._group.__aenter__()
        self._group.create_task(self._server.serve(sockets=[self._socket]), name="scripted-model")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.should_exit = self._server.force_exit = True
        await self._group.__aexit__(kind, exc, trace)
        if self._broken and exc is None:
            raise self._broken[0]

    def _app(self) -> "Starlette":
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route

        async def count(http: "HttpRequest") -> Response:
            return JSONResponse({"input_tokens": api.input_tokens(api.parse_request(await http.json()))})

        async def anything_else(_: "HttpRequest") -> Response:
            return JSONResponse({})

        return Starlette(
            routes=[
                Route("/v1/messages", self._answer, methods=["POST"]),
                Route("/v1/messages/count_tokens", count, methods=["POST"]),
                Route("/{path:path}", anything_else, methods=["GET", "HEAD", "POST", "PUT", "DELETE"]),
            ]
        )

    async def _answer(self, http: "HttpRequest") -> "Response":
        from starlette.responses import JSONResponse, StreamingResponse

        body = await http.json()
        request = api.parse_request(body)
        reply = await self._reply_to(request, http.headers)
        match reply[0] if reply else None:
            case Status(code, headers):
                return JSONResponse(api.error(code), status_code=code, headers=dict(headers))
            case Hang():
                await self._closing.wait()
                return JSONResponse(api.error(500), status_code=500)
        answer = hashlib.sha256(json.dumps(body.get("messages", [])).encode()).hexdigest()[:20]
        if request.stream:
            return StreamingResponse(self._stream(request, answer, reply), media_type="text/event-stream")
        if any(isinstance(step, CutStream) for step in reply):
            return StreamingResponse(_cut(), media_type="application/json")
        blocks = [block async for block in self._blocks(answer, reply) if isinstance(block, api.Block)]
        return JSONResponse(api.whole(request, answer, blocks))

    async def _reply_to(self, request: Request, headers: Mapping[str, str]) -> Reply:
        if request.aside:
            self.asides.append(request)
            return _ASIDE
        async with self.asked:
            self.requests.append(request)
            self.keys.append(headers.get("x-api-key") or headers.get("authorization", ""))
            self.asked.notify_all()
        try:
            return self._play(request)
        except Exception as broken:  # noqa: BLE001 - raised again where the block is left
            self._broken.append(broken)
            return (Status(400),)

    async def _stream(self, request: Request, answer: str, reply: Reply) -> AsyncIterator[bytes]:
        left = next((step.after for step in reply if isinstance(step, CutStream)), None)
        async for event in self._events(request, answer, reply):
            if left == 0:
                raise _Cut
            yield api.sse(event)
            if left is not None and event["type"] != "ping":
                left -= 1

    async def _events(self, request: Request, answer: str, reply: Reply) -> AsyncIterator[Json]:
        blocks: list[api.Block] = []
        yield api.opening(request, answer)
        async for block in self._blocks(answer, reply):
            if block is None:
                yield {"type": "ping"}
                continue
            blocks.append(block)
            for event in block.events():
                yield event
        for event in api.closing(blocks):
            yield event

    async def _blocks(self, answer: str, reply: Reply) -> AsyncIterator[api.Block | None]:
        """The pieces of the answer as they come; None while it thinks."""
        number = 0
        for step in reply:
            match step:
                case Say(text):
                    yield api.text_block(number, text)
                case Use(tool, arguments):
                    yield api.tool_block(number, answer=answer, tool=tool, arguments=arguments)
                case Wait(seconds, until):
                    async for _ in self._pauses(seconds, until):
                        yield None
                    continue
                case Hang():
                    await self._closing.wait()
                case Status() | CutStream():
                    continue
                case _:
                    assert_never(step)
            number += 1

    async def _pauses(self, seconds: float, until: asyncio.Event | None) -> AsyncIterator[None]:
        """Now and then, until the time is up: a silent stream would be taken for a dead one."""
        loop = asyncio.get_running_loop()
        end = loop.time() + (seconds if until is None else float("inf"))
        over = until or self._closing
        while not over.is_set() and not self._closing.is_set() and (left := end - loop.time()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), min(left, _PING_SECONDS))
            yield None


async def _cut() -> AsyncIterator[bytes]:
    yield b"{"
    raise _Cut
