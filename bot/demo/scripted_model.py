"""Scripted model: a server of the Messages API on loopback that answers the agent's real program from a script.

Rule: stateless. Each answer follows from the conversation in the request, so that an interrupted demo can be resumed.
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

from bot.demo import messages_api
from bot.demo.messages_api import MessageJson, MessagesRequest

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class SayText:
    text: str


@dataclass(frozen=True, slots=True)
class UseTool:
    tool: str
    input: MessageJson


@dataclass(frozen=True, slots=True)
class Pause:
    """Waits for some seconds, or until the event is set."""

    seconds: float = 0.0
    until: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class RefuseWith:
    """Answers with an HTTP error. Only as the first step."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CutStream:
    """Closes the connection after some events of the stream."""

    after: int = 1


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answers."""


ScriptStep = SayText | UseTool | Pause | RefuseWith | CutStream | Hang
ScriptedReply = Sequence[ScriptStep]
Script = Callable[[MessagesRequest], ScriptedReply]

_SIDE_REPLY: ScriptedReply = (SayText("A task"),)
_PING_SECONDS = 2.0


class _Cut(Exception):
    """Ends the connection."""


def _listen(port: int) -> socket.socket:
    """Names TCP explicitly, so that uvicorn sends small answers at once."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


class ScriptedModel:
    """A server of the Messages API in the caller's event loop. Use it with `async with`."""

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self._script = script
        self._socket = _listen(port)
        self._group = asyncio.TaskGroup()
        self._closing = asyncio.Event()
        self._broken: list[Exception] = []
        self.requests: list[MessagesRequest] = []
        """Requests of agents, oldest first."""
        self.side_requests: list[MessagesRequest] = []
        self.keys: list[str] = []
        """Credential of each request."""
        self.request_arrived = asyncio.Condition()
        """Notified at every request of an agent."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def wait_for_requests(self, count: int = 1) -> None:
        """Returns when agents have made this many requests in all."""
        async with self.request_arrived:
            await self.request_arrived.wait_for(lambda: len(self.requests) >= count)

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
            return JSONResponse(
                {"input_tokens": messages_api.input_tokens(messages_api.parse_request(await http.json()))}
            )

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
        request = messages_api.parse_request(body)
        reply = await self._reply_to(request, http.headers)
        match reply[0] if reply else None:
            case RefuseWith(code, headers):
                return JSONResponse(messages_api.error(code), status_code=code, headers=dict(headers))
            case Hang():
                await self._closing.wait()
                return JSONResponse(messages_api.error(500), status_code=500)
        answer = hashlib.sha256(json.dumps(body.get("messages", [])).encode()).hexdigest()[:20]
        if request.stream:
            return StreamingResponse(self._stream(request, answer, reply), media_type="text/event-stream")
        if any(isinstance(step, CutStream) for step in reply):
            return StreamingResponse(_cut(), media_type="application/json")
        blocks = [block async for block in self._blocks(answer, reply) if isinstance(block, messages_api.ContentBlock)]
        return JSONResponse(messages_api.full_message(request, answer, blocks))

    async def _reply_to(self, request: MessagesRequest, headers: Mapping[str, str]) -> ScriptedReply:
        if request.is_side_request:
            self.side_requests.append(request)
            return _SIDE_REPLY
        async with self.request_arrived:
            self.requests.append(request)
            self.keys.append(headers.get("x-api-key") or headers.get("authorization", ""))
            self.request_arrived.notify_all()
        try:
            return self._script(request)
        except Exception as broken:  # noqa: BLE001 - raised again at the end of the `async with` block
            self._broken.append(broken)
            return (RefuseWith(400),)

    async def _stream(self, request: MessagesRequest, answer: str, reply: ScriptedReply) -> AsyncIterator[bytes]:
        left = next((step.after for step in reply if isinstance(step, CutStream)), None)
        async for event in self._events(request, answer, reply):
            if left == 0:
                raise _Cut
            yield messages_api.sse(event)
            if left is not None and event["type"] != "ping":
                left -= 1

    async def _events(self, request: MessagesRequest, answer: str, reply: ScriptedReply) -> AsyncIterator[MessageJson]:
        blocks: list[messages_api.ContentBlock] = []
        yield messages_api.opening(request, answer)
        async for block in self._blocks(answer, reply):
            if block is None:
                yield {"type": "ping"}
                continue
            blocks.append(block)
            for event in block.events():
                yield event
        for event in messages_api.closing(blocks):
            yield event

    async def _blocks(self, answer: str, reply: ScriptedReply) -> AsyncIterator[messages_api.ContentBlock | None]:
        """Yields the blocks of the answer, and None during a pause."""
        number = 0
        for step in reply:
            match step:
                case SayText(text):
                    yield messages_api.text_block(number, text)
                case UseTool(tool, arguments):
                    yield messages_api.tool_block(number, answer=answer, tool=tool, arguments=arguments)
                case Pause(seconds, until):
                    async for _ in self._pauses(seconds, until):
                        yield None
                    continue
                case Hang():
                    await self._closing.wait()
                case RefuseWith() | CutStream():
                    continue
                case _:
                    assert_never(step)
            number += 1

    async def _pauses(self, seconds: float, until: asyncio.Event | None) -> AsyncIterator[None]:
        """Yields every few seconds until the pause ends: agents take a silent stream for a dead one."""
        loop = asyncio.get_running_loop()
        end = loop.time() + (seconds if until is None else float("inf"))
        end_event = until or self._closing
        while not end_event.is_set() and not self._closing.is_set() and (left := end - loop.time()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(end_event.wait(), min(left, _PING_SECONDS))
            yield None


async def _cut() -> AsyncIterator[bytes]:
    yield b"{"
    raise _Cut
