"""What a request asks of the model, as far as the gate must know. Pure; bytes in, facts or a refusal out.

One reading only: what two parsers could understand differently (a key twice, a key in other letters) is refused. And
the model's service is no way out: nothing may make it fetch, search or run anything on the sandbox's behalf.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from bot.sandbox.proxy.grant import Refusal

_MOST_PIECES = 500_000
_MOST_ESCAPES = 4_000_000
"""What a long conversation has is far less; taking more apart would stop everything else meanwhile."""
_BYTES_PER_TOKEN = 4
_PACKED_BYTES_PER_TOKEN = 64
"""Pictures cost far fewer tokens than letters."""
_USUAL_TOKENS = 4_096
_KEYS_THAT_MATTER = frozenset({"model", "max_tokens", "stream", "tools", "messages", "mcp_servers", "container"})
_ELSEWHERE = frozenset({"mcp_servers", "container"})
_AT_THE_SERVICE = re.compile(r"(?:web_search|web_fetch|code_execution|mcp_toolset|advisor)(?:_\d+)?", re.ASCII)
_OWN_TOOLS = re.compile(r"custom|(?:bash|text_editor|memory)_\d+|tool_search_tool_\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ask:
    model: str
    input: int
    """Tokens, estimated."""
    output: int
    """Tokens, at most."""
    streamed: bool


class _Reading:
    def __init__(self) -> None:
        self.packed = 0
        self.remote = ""
        """What somebody else would be made to do."""

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError
        kind = made.get("type")
        if kind == "base64" and isinstance(data := made.get("data"), str):
            self.packed += len(data)
        elif kind == "url" and "url" in made:
            self.remote = "fetch an address"
        elif isinstance(kind, str) and "name" in made and _AT_THE_SERVICE.fullmatch(kind):
            self.remote = f"use {kind}"
        return made


def parse_ask(body: bytes) -> Ask:
    if sum(map(body.count, (b"{", b"[", b","))) > _MOST_PIECES or body.count(b"\\") > _MOST_ESCAPES:
        raise Refusal(413, "That request has too many pieces.")
    reading = _Reading()
    asked = _parsed(body, reading)
    model = asked.get("model")
    if not isinstance(model, str) or not model:
        raise Refusal(400, "That request names no model.")
    _ensure_stays_here(asked, reading)
    most = asked.get("max_tokens")
    text = len(body) - reading.packed
    return Ask(
        model,
        input=text // _BYTES_PER_TOKEN + reading.packed // _PACKED_BYTES_PER_TOKEN,
        output=max(0, most) if isinstance(most, int) else _USUAL_TOKENS,
        streamed=asked.get("stream") is True,
    )


def _parsed(body: bytes, reading: _Reading) -> dict[str, Any]:
    try:
        text = body.decode("utf-8")
        asked = json.loads(text, object_pairs_hook=reading.object, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "That request is no plain JSON.") from None
    if not isinstance(asked, dict):
        raise Refusal(400, "That request is no JSON object.")
    if any(key.casefold() in _KEYS_THAT_MATTER and key not in _KEYS_THAT_MATTER for key in asked):
        raise Refusal(400, "That request spells its keys unusually.")
    return asked


def _no_constant(_name: str) -> NoReturn:
    raise ValueError


def _ensure_stays_here(asked: dict[str, Any], reading: _Reading) -> None:
    tools = asked.get("tools") or []
    for tool in tools if isinstance(tools, list) else [tools]:
        kind = tool.get("type", "custom") if isinstance(tool, dict) else ""
        if kind is not None and not (isinstance(kind, str) and _OWN_TOOLS.fullmatch(kind)):
            reading.remote = f"use {kind}"
    for key in sorted(_ELSEWHERE & asked.keys()):
        if asked[key]:
            reading.remote = f"use {key}"
    if reading.remote:
        tried = f"have the model's service {reading.remote}"
        raise Refusal(403, "The model's service may not be made to reach or run anything.", tried=tried)
