"""The Messages API, as far as a scripted model needs it: reads a request, writes an answer. Pure; no network."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Json = dict[str, Any]

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_INTERRUPTION = re.compile(
    r"The user sent a new message while you were working:\s*(.*?)\s*"
    r"(?:</system-reminder>|\n\nThis is how Claude Code|\n\nIMPORTANT:|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Request:
    """What a model is asked: everything a script needs to decide how the story goes on, and nothing kept elsewhere."""

    model: str
    system: str
    messages: Sequence[Mapping[str, Any]] = field(repr=False)
    tools: frozenset[str]
    stream: bool
    max_tokens: int

    @cached_property
    def said(self) -> tuple[str, ...]:
        """What people said, oldest first: the prompt, later prompts, and messages that came while the agent worked."""
        return tuple(text for _, text in self._said_at)

    @property
    def last_said(self) -> str:
        return self.said[-1] if self.said else ""

    @cached_property
    def results(self) -> tuple[str, ...]:
        """What the tools answered, oldest first."""
        return tuple(
            _plain(block.get("content"))
            for message in self.messages
            for block in _blocks(message)
            if block.get("type") == "tool_result"
        )

    @property
    def answers(self) -> int:
        """How often the model has answered in this conversation."""
        return sum(message.get("role") == "assistant" for message in self.messages)

    @property
    def answers_since_said(self) -> int:
        """How often it has answered since a person last said something: the place in a stateless script."""
        last = self._said_at[-1][0] if self._said_at else -1
        return sum(message.get("role") == "assistant" for message in self.messages[last + 1 :])

    @property
    def aside(self) -> bool:
        """A question of the program's own (a title, a quota probe), not the agent's."""
        return not self.tools

    @cached_property
    def _said_at(self) -> tuple[tuple[int, str], ...]:
        return tuple(
            (index, text)
            for index, message in enumerate(self.messages)
            if message.get("role") in {"user", "system"}
            for text in _said_in(message)
        )


def parse_request(body: Mapping[str, Any]) -> Request:
    return Request(
        model=str(body.get("model", "")),
        system=_plain(body.get("system")),
        messages=body.get("messages", ()),
        tools=frozenset(str(tool.get("name")) for tool in body.get("tools") or ()),
        stream=bool(body.get("stream")),
        max_tokens=int(body.get("max_tokens", 0)),
    )


def _said_in(message: Mapping[str, Any]) -> Iterator[str]:
    for block in _blocks(message):
        if block.get("type") != "text":
            continue
        text = str(block.get("text", ""))
        interruptions = _INTERRUPTION.findall(text)
        if interruptions:
            yield from interruptions
        elif message.get("role") == "user" and (rest := _REMINDER.sub("", text).strip()):
            yield rest


def _blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = message.get("content", "")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _plain(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
    return content if isinstance(content, str) else ""


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of an answer."""

    number: int
    content: Json

    def events(self) -> Iterator[Json]:
        if self.content["type"] == "text":
            empty: Json = {"type": "text", "text": ""}
            deltas: list[Json] = [{"type": "text_delta", "text": part} for part in _parts(self.content["text"])]
        else:
            empty = {**self.content, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(self.content["input"])}]
        yield {"type": "content_block_start", "index": self.number, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": self.number, "delta": delta}
        yield {"type": "content_block_stop", "index": self.number}


def text_block(number: int, text: str) -> Block:
    return Block(number, {"type": "text", "text": text})


def tool_block(number: int, *, answer: str, tool: str, arguments: Json) -> Block:
    """The id follows from its place, so that the same conversation always gets the same answer."""
    return Block(number, {"type": "tool_use", "id": f"toolu_{answer}_{number}", "name": tool, "input": arguments})


def _parts(text: str, size: int = 200) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def opening(request: Request, answer: str) -> Json:
    return {"type": "message_start", "message": _message(request, answer, [], None, {"output_tokens": 1})}


def closing(blocks: Sequence[Block]) -> tuple[Json, Json]:
    delta = {"stop_reason": _stop_reason(blocks), "stop_sequence": None}
    usage = {"output_tokens": _output_tokens(blocks)}
    return {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}


def whole(request: Request, answer: str, blocks: Sequence[Block]) -> Json:
    """The answer in one piece, for who did not ask for a stream."""
    usage = {"output_tokens": _output_tokens(blocks)}
    return _message(request, answer, [block.content for block in blocks], _stop_reason(blocks), usage)


def _message(request: Request, answer: str, content: list[Json], stop: str | None, usage: Json) -> Json:
    return {
        "id": f"msg_{answer}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": input_tokens(request), **usage},
    }


def _stop_reason(blocks: Sequence[Block]) -> str:
    return "tool_use" if any(block.content["type"] == "tool_use" for block in blocks) else "end_turn"


def input_tokens(request: Request) -> int:
    """About four letters each: enough for a believable bill."""
    return (len(request.system) + len(json.dumps(list(request.messages)))) // 4


def _output_tokens(blocks: Sequence[Block]) -> int:
    return sum(len(json.dumps(block.content)) for block in blocks) // 4 + 1


def sse(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


ERRORS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def error(status: int) -> Json:
    kind = ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": f"scripted {kind.replace('_', ' ')}"}}
