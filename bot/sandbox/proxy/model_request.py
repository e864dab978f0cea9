"""Parses and checks a request to the model: its model, its estimated tokens, and nothing that is not known. Pure.

Rules: a request that two parsers could read differently (a key twice, a key in other letters) is refused. The model's
service is no way out of the sandbox: a request may not make it fetch, search or run anything. And what is not in these
lists is refused, because it could cost more, use another model, or reach out. The lists hold what the agent's program
sends: `tests/agents/test_model_requests.py` compares.
"""

import json
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NoReturn

from bot.sandbox.proxy.grant import ProxyRefusal
from bot.text.invisible_characters import on_one_line

_MAX_VALUES = 500_000
_MAX_ESCAPES = 4_000_000
"""Far more than a long conversation has, with the commas in its texts."""
_BYTES_PER_TOKEN = 4
_BASE64_BYTES_PER_TOKEN = 64
"""Pictures cost far fewer tokens than text."""
_DEFAULT_OUTPUT_TOKENS = 4_096
_LONGEST_NAME = 60
_KEYS = frozenset({
    "model", "max_tokens", "stream", "messages", "system", "tools", "tool_choice", "thinking", "output_config",
    "context_management", "cache_control", "metadata", "stop_sequences", "temperature", "top_k", "top_p",
})  # fmt: skip
_REMOTE_KEYS = frozenset({"mcp_servers", "container"})
_BETAS = frozenset({
    "claude-code-20250219", "oauth-2025-04-20", "token-counting-2024-11-01", "context-1m-2025-08-07",
    "interleaved-thinking-2025-05-14", "redact-thinking-2026-02-12", "thinking-token-count-2026-05-13",
    "thinking-display-updates-2026-08-18", "thinking-binding-controls-2026-08-01", "thinking-resumption-2026-07-17",
    "effort-2025-11-24", "structured-outputs-2025-12-15", "task-budgets-2026-03-13", "per-turn-control-2026-07-01",
    "context-management-2025-06-27", "context-hint-2026-04-09", "mid-conversation-system-2026-04-07",
    "mid-conversation-system-clear-at-2026-08-21", "mid-conversation-tool-changes-2026-07-01",
    "extended-cache-ttl-2025-04-11", "prompt-caching-scope-2026-01-05", "prompt-caching-evict-2026-05-12",
    "cache-diagnosis-2026-04-07", "tool-search-tool-2025-10-19", "advanced-tool-use-2025-11-20",
    "fine-grained-tool-streaming-2025-05-14",
})  # fmt: skip
_PACKED_BLOCKS = frozenset({"image", "document"})
_PACKED_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
_REMOTE_TOOLS = re.compile(r"(?:web_search|web_fetch|code_execution|mcp_toolset|advisor)(?:_\d+)?", re.ASCII)
_LOCAL_TOOLS = re.compile(r"custom|(?:bash|text_editor|memory)_\d+|tool_search_tool_\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    model: str
    input: int
    """Estimated tokens."""
    output: int
    """Maximum of tokens."""
    streamed: bool


class _Scan:
    def __init__(self) -> None:
        self.remote_use = ""
        """Action that the request would make the model's service take; empty if none."""

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise ValueError
        kind = result.get("type")
        if kind == "url" and "url" in result:
            self.remote_use = "fetch an address"
        elif isinstance(kind, str) and "name" in result and _REMOTE_TOOLS.fullmatch(kind):
            self.remote_use = f"use {kind}"
        return result


def parse_model_request(body: bytes) -> ModelRequest:
    if sum(map(body.count, (b"{", b"[", b","))) > _MAX_VALUES or body.count(b"\\") > _MAX_ESCAPES:
        raise ProxyRefusal(413, "The request has too many values.")
    scan = _Scan()
    request = _parse_json(body, scan)
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise ProxyRefusal(400, "The request names no model.")
    _refuse_remote_use(request, scan)
    _refuse_unknown(request.keys() - _KEYS - _REMOTE_KEYS, "the key")
    packed = _packed_bytes(request.get("messages"))
    text = len(body) - packed
    return ModelRequest(
        model,
        input=text // _BYTES_PER_TOKEN + packed // _BASE64_BYTES_PER_TOKEN,
        output=_max_output_tokens(request),
        streamed=request.get("stream") is True,
    )


def _max_output_tokens(request: dict[str, Any]) -> int:
    """Refuses what the model's service may read as a number and we do not: `1e5`, `"100000"`."""
    most = request.get("max_tokens", _DEFAULT_OUTPUT_TOKENS)
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        raise ProxyRefusal(400, "The max_tokens of the request must be a plain number.")
    return most


def _parse_json(body: bytes, scan: _Scan) -> dict[str, Any]:
    try:
        text = body.decode("utf-8")
        request = json.loads(text, object_pairs_hook=scan.object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ProxyRefusal(400, "The request is not plain JSON.") from None
    if not isinstance(request, dict):
        raise ProxyRefusal(400, "The request is not a JSON object.")
    return request


def refuse_unknown_betas(headers: Iterable[tuple[bytes, bytes]]) -> None:
    words = (word for name, value in headers if name == b"anthropic-beta" for word in value.split(b","))
    _refuse_unknown({word.strip().decode("ascii", "replace") for word in words} - _BETAS - {""}, "the beta")


def _refuse_unknown(names: AbstractSet[str], what: str) -> None:
    if names:
        name = on_one_line(min(names))[:_LONGEST_NAME]
        raise ProxyRefusal(
            403,
            f"Treehand does not let {what} {name!r} through to the model. If the agent's program needs it, report it.",
            attempt=f"send the model {what} {name}",
        )


def _packed_bytes(blocks: object) -> int:
    """Returns the length of the pictures and documents in messages; other text costs what it is long."""
    if not isinstance(blocks, list):
        return 0
    return sum(_packed_bytes_of(block) for block in blocks if isinstance(block, dict))


def _packed_bytes_of(block: dict[str, Any]) -> int:
    source = block.get("source")
    if block.get("type") not in _PACKED_BLOCKS or not isinstance(source, dict):
        return _packed_bytes(block.get("content"))
    is_packed = source.get("type") == "base64" and source.get("media_type") in _PACKED_TYPES
    return len(data) if is_packed and isinstance(data := source.get("data"), str) else 0


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError


def _refuse_remote_use(request: dict[str, Any], scan: _Scan) -> None:
    tools = request.get("tools") or []
    for tool in tools if isinstance(tools, list) else [tools]:
        kind = tool.get("type", "custom") if isinstance(tool, dict) else ""
        if kind is not None and not (isinstance(kind, str) and _LOCAL_TOOLS.fullmatch(kind)):
            scan.remote_use = f"use {kind}"
    for key in sorted(_REMOTE_KEYS & request.keys()):
        if request[key]:
            scan.remote_use = f"use {key}"
    if scan.remote_use:
        attempt = f"have the model's service {scan.remote_use}"
        raise ProxyRefusal(
            403, "The model's service must not access an address or run a tool for the agent.", attempt=attempt
        )
