"""Counts the tokens of an answer while it passes by, in whichever form the model's service tells them."""

import json
from collections.abc import Callable
from typing import Any

_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MOST_BYTES = 16 * 1024 * 1024


class Usage:
    """Feed it the answer's bytes; it never changes or delays them."""

    def __init__(self, told: Callable[[int], None], *, streamed: bool) -> None:
        """`told` hears of more tokens as soon as they are known."""
        self._told = told
        self._streamed = streamed
        self._rest = bytearray()
        self._counts = dict.fromkeys(_FIELDS, 0)
        self.is_final = False
        """The service has told all that there is to be told."""
        self.is_whole = False
        """The answer has come to its end, whatever it told."""
        self.bytes = 0

    @property
    def tokens(self) -> int:
        return sum(self._counts.values())

    def feed(self, data: bytes) -> None:
        self._rest += data
        self.bytes += len(data)
        if self._streamed:
            *lines, rest = self._rest.split(b"\n")
            self._rest = rest
            for line in lines:
                self._read_line(line)
        if len(self._rest) > _MOST_BYTES:
            self._rest.clear()

    def end(self) -> None:
        self.is_whole = True
        if self._streamed:
            self._read_line(self._rest)
        else:
            body = _parsed(self._rest)
            self.is_final = self._take(body.get("usage"))

    def _read_line(self, line: bytearray) -> None:
        # most lines are pieces of text: they are passed over unread
        if not line.startswith(b"data:") or b'"usage"' not in line:
            return
        event = _parsed(line[len(b"data:") :])
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                self._take(message.get("usage") if isinstance(message, dict) else None)
            case "message_delta":
                self.is_final = self._take(event.get("usage")) or self.is_final

    def _take(self, usage: object) -> bool:
        """The numbers only grow: later events repeat the earlier ones."""
        if not isinstance(usage, dict):
            return False
        before = self.tokens
        for name in _FIELDS:
            count = usage.get(name)
            if isinstance(count, int):
                self._counts[name] = max(self._counts[name], count)
        self._told(self.tokens - before)
        return True


def _parsed(data: bytes | bytearray) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
