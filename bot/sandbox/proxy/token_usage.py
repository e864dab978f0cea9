"""Token usage: counts the tokens of an answer of the model while it is forwarded, streamed or not."""

import json
from collections.abc import Callable
from typing import Any

_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MAX_BYTES = 16 * 1024 * 1024


class TokenUsage:
    """Counter of one answer. Reads its bytes and does not change or delay them."""

    def __init__(self, on_tokens: Callable[[int], None], *, streamed: bool) -> None:
        """`told` hears of more tokens as soon as they are known."""
        self._on_tokens = on_tokens
        self._streamed = streamed
        self._buffer = bytearray()
        self._counts = dict.fromkeys(_FIELDS, 0)
        self.is_final = False
        """The service has reported the final count."""
        self.is_complete = False
        """The answer has ended."""
        self.bytes = 0

    @property
    def tokens(self) -> int:
        return sum(self._counts.values())

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
            self.is_final = self._add(body.get("usage"))

    def _read_line(self, line: bytearray) -> None:
        # most lines are parts of text: they are skipped unparsed
        if not line.startswith(b"data:") or b'"usage"' not in line:
            return
        event = _parsed(line[len(b"data:") :])
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                self._add(message.get("usage") if isinstance(message, dict) else None)
            case "message_delta":
                self.is_final = self._add(event.get("usage")) or self.is_final

    def _add(self, usage: object) -> bool:
        """Later events repeat earlier counts, so each count only grows."""
        if not isinstance(usage, dict):
            return False
        before = self.tokens
        for name in _FIELDS:
            count = usage.get(name)
            if isinstance(count, int):
                self._counts[name] = max(self._counts[name], count)
        self._on_tokens(self.tokens - before)
        return True


def _parsed(data: bytes | bytearray) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
