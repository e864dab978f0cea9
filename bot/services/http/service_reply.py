"""One answer of a service over HTTP, and the errors for a request that has none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.errors import Retryable


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """Status, headers and text of an answer."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    text: str = ""

    @property
    def fields(self) -> Mapping[str, Any]:
        """The JSON object in the text; empty if it holds none."""
        try:
            data = json.loads(self.text)
        except (ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}


class NoAnswer(Exception):
    """No answer came back, or only a part of it. `sent`: the server may have got the request."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class UnknownOutcome(Retryable):
    """No answer came to a write: it may have been done or not."""


def no_answer(why: str, *, request: str = "", writing: bool) -> Retryable:
    """The error for a missing or unreadable answer: `UnknownOutcome` if it was to a write."""
    text = f"{why} ({request})" if request else why
    return UnknownOutcome(f"{text}. The request may have succeeded nevertheless.") if writing else Retryable(text)


def sendable(value: Any) -> Any:
    """The value with every string in it made valid Unicode without NUL: an agent's text may be neither."""
    match value:
        case str():
            return value.encode(errors="replace").decode().replace("\0", "")
        case dict():
            return {name: sendable(item) for name, item in value.items()}
        case list() | tuple():
            return [sendable(item) for item in value]
        case _:
            return value
