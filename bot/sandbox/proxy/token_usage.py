"""Token usage: counts the tokens of an answer of the model, by their class, while it is forwarded, streamed or not."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from bot.domain.price import TokenCounts

_INPUT, _OUTPUT = "input_tokens", "output_tokens"
_CACHE_WRITE, _CACHE_READ = "cache_creation_input_tokens", "cache_read_input_tokens"
_CACHE_WRITE_HOUR, _WEB_SEARCHES = "ephemeral_1h_input_tokens", "web_search_requests"
_FIELDS = (_INPUT, _OUTPUT, _CACHE_WRITE, _CACHE_READ, _CACHE_WRITE_HOUR, _WEB_SEARCHES)
_MAX_BYTES = 16 * 1024 * 1024
_FRAME_BYTES = 88
"""Bytes around the text in an event of a stream."""
_BYTES_PER_TOKEN = 4


class TokenUsage:
    """Counter of one answer. Reads its bytes and does not change or delay them."""

    def __init__(self, on_counts: Callable[[TokenCounts], None], *, streamed: bool) -> None:
        """`on_counts` gets the counts of the whole answer so far, as soon as there are more."""
        self._on_counts = on_counts
        self._streamed = streamed
        self._buffer = bytearray()
        self._counts = dict.fromkeys(_FIELDS, 0)
        self._in_us = False
        self._text_tokens = 0
        """Estimated tokens of the text that came. An answer that is cut off reports no others."""
        self.is_final = False
        """The service has reported the final count."""
        self.is_complete = False
        """The answer has ended."""
        self.bytes = 0

    @property
    def counts(self) -> TokenCounts:
        now = self._counts
        hour = min(now[_CACHE_WRITE_HOUR], now[_CACHE_WRITE])
        return TokenCounts(
            input=now[_INPUT],
            output=now[_OUTPUT],
            cache_read=now[_CACHE_READ],
            cache_write=now[_CACHE_WRITE] - hour,
            cache_write_hour=hour,
            web_searches=now[_WEB_SEARCHES],
            in_us=self._in_us,
        )

    @property
    def tokens(self) -> int:
        return self.counts.tokens

    def feed(self, data: bytes) -> None:
        self._buffer += data
        self.bytes += len(data)
        if self._streamed:
            *lines, incomplete = self._buffer.split(b"\n")
            self._buffer = incomplete
            for line in lines:
                self._read_line(line)
        if len(self._buffer) > _MAX_BYTES:
            self._buffer.clear()

    def finish(self) -> None:
        self.is_complete = True
        if self._streamed:
            self._read_line(self._buffer)
        else:
            body = _parsed(self._buffer)
            self._add(body.get("usage"), is_final=True)

    def settle(self) -> None:
        """Counts the text of an answer whose final count never came."""
        if not self.is_final and self._text_tokens > self._counts[_OUTPUT]:
            self._counts[_OUTPUT] = self._text_tokens
            self._on_counts(self.counts)

    def _read_line(self, line: bytearray) -> None:
        # most lines are parts of text: they are skipped unparsed
        if not line.startswith(b"data:"):
            return
        if b'"usage"' not in line:
            if b'_delta"' in line:
                self._text_tokens += max(1, (len(line) - _FRAME_BYTES) // _BYTES_PER_TOKEN)
            return
        event = _parsed(line[len(b"data:") :])
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                self._add(message.get("usage") if isinstance(message, dict) else None)
            case "message_delta":
                self._add(event.get("usage"), is_final=True)

    def _add(self, usage: object, *, is_final: bool = False) -> None:
        """Later events repeat earlier counts, so each count only grows."""
        if not isinstance(usage, dict):
            return
        self.is_final |= is_final
        flat = {**usage, **_part(usage, "cache_creation"), **_part(usage, "server_tool_use")}
        for name in _FIELDS:
            count = flat.get(name)
            if isinstance(count, int):
                self._counts[name] = max(self._counts[name], count)
        self._in_us |= usage.get("inference_geo") == "us"
        self._on_counts(self.counts)


def _part(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = usage.get(name)
    return part if isinstance(part, dict) else {}


def _parsed(data: bytes | bytearray) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
