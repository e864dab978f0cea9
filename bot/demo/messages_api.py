"""The Messages API as far as a scripted model needs it: parses requests and builds answers. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MessageJson = dict[str, Any]

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_INTERRUPTION = re.compile(
    r"The user sent a new message while you were working:\s*(.*?)\s*"
    r"(?:</system-reminder>|\n\nThis is how Claude Code|\n\nIMPORTANT:|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True)
class MessagesRequest:
    """A request to the model, with everything that a script needs to choose its next step."""

    model: str
    system: str
    messages: Sequence[Mapping[str, Any]] = field(repr=False)
    tools: frozenset[str]
    stream: bool
    max_tokens: int

    @cached_property
    def user_texts(self) -> tuple[str, ...]:
        """Prompts, and messages that arrived while the agent worked; oldest first."""
        return tuple(text for _, text in self._indexed_user_texts)

    @property
    def last_user_text(self) -> str:
        return self.user_texts[-1] if self.user_texts else ""

    @cached_property
    def results(self) -> tuple[str, ...]:
        """Results of the tools, oldest first."""
        return tuple(
            _plain(block.get("content"))
            for message in self.messages
            for block in _blocks(message)
            if block.get("type") == "tool_result"
        )

    @property
    def answers(self) -> int:
        """Number of answers of the model in this conversation."""
        return sum(message.get("role") == "assistant" for message in self.messages)

    @property
    def answers_since_user_text(self) -> int:
        """Number of answers since the last user text: the position in a stateless script."""
        last = self._indexed_user_texts[-1][0] if self._indexed_user_texts else -1
        return sum(message.get("role") == "assistant" for message in self.messages[last + 1 :])

    @property
    def is_side_request(self) -> bool:
        """Asked by the agent's program for itself: a title, a quota probe."""
        return not self.tools

    @cached_property
    def _indexed_user_texts(self) -> tuple[tuple[int, str], ...]:
        return tuple(
            (index, text)
            for index, message in enumerate(self.messages)
            if message.get("role") in {"user", "system"}
            for text in _user_texts_in(message)
        )


def parse_request(body: Mapping[str, Any]) -> MessagesRequest:
    return MessagesRequest(
        model=str(body.get("model", "")),
        system=_plain(body.get("system")),
        messages=body.get("messages", ()),
        tools=frozenset(str(tool.get("name")) for tool in body.get("tools") or ()),
        stream=bool(body.get("stream")),
        max_tokens=int(body.get("max_tokens", 0)),
    )


def _user_texts_in(message: Mapping[str, Any]) -> Iterator[str]:
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
class ContentBlock:
    """A part of an answer: a text or a tool call."""

    number: int
    content: MessageJson

    def events(self) -> Iterator[MessageJson]:
        if self.content["type"] == "text":
            empty: MessageJson = {"type": "text", "text": ""}
            deltas: list[MessageJson] = [{"type": "text_delta", "text": part} for part in _parts(self.content["text"])]
        else:
            empty = {**self.content, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(self.content["input"])}]
        yield {"type": "content_block_start", "index": self.number, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": self.number, "delta": delta}
        yield {"type": "content_block_stop", "index": self.number}


def text_block(number: int, text: str) -> ContentBlock:
    return ContentBlock(number, {"type": "text", "text": text})


def tool_block(number: int, *, answer: str, tool: str, arguments: MessageJson) -> ContentBlock:
    """Derives the id from the position, so that the same conversation always gets the same answer."""
    return ContentBlock(
        number, {"type": "tool_use", "id": f"toolu_{answer}_{number}", "name": tool, "input": arguments}
    )


def _parts(text: str, size: int = 200) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def opening(request: MessagesRequest, answer: str) -> MessageJson:
    return {"type": "message_start", "message": _message(request, answer, [], None, {"output_tokens": 1})}


def closing(blocks: Sequence[ContentBlock]) -> tuple[MessageJson, MessageJson]:
    delta = {"stop_reason": _stop_reason(blocks), "stop_sequence": None}
    usage = {"output_tokens": _output_tokens(blocks)}
    return {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}


def full_message(request: MessagesRequest, answer: str, blocks: Sequence[ContentBlock]) -> MessageJson:
    usage = {"output_tokens": _output_tokens(blocks)}
    return _message(request, answer, [block.content for block in blocks], _stop_reason(blocks), usage)


def _message(
    request: MessagesRequest, answer: str, content: list[MessageJson], stop: str | None, usage: MessageJson
) -> MessageJson:
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


def _stop_reason(blocks: Sequence[ContentBlock]) -> str:
    return "tool_use" if any(block.content["type"] == "tool_use" for block in blocks) else "end_turn"


def input_tokens(request: MessagesRequest) -> int:
    """Estimates one token for four characters."""
    return (len(request.system) + len(json.dumps(list(request.messages)))) // 4


def _output_tokens(blocks: Sequence[ContentBlock]) -> int:
    return sum(len(json.dumps(block.content)) for block in blocks) // 4 + 1


def sse(event: MessageJson) -> bytes:
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


def error(status: int) -> MessageJson:
    kind = ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": f"scripted {kind.replace('_', ' ')}"}}
