"""Reads YAML that nobody has checked: as strings, lists and tables, within limits of size, depth and aliases. Pure.

Rule: no value is converted and no tag is obeyed, so `3.10` stays `3.10`, and `on` stays `on`. A document that breaks a
limit is not read at all.
"""

from collections.abc import Iterator
from typing import Any

LONGEST_TEXT = 128 * 1024
_DEEPEST = 20
_MOST_EVENTS = 20_000
_MOST_ALIASES = 50


class _Refused(Exception):
    """The document breaks a limit."""


def parse_yaml(text: str) -> Any:
    """Returns None unless the text is one valid document within the limits."""
    import yaml

    if len(text) > LONGEST_TEXT:
        return None
    try:
        return _Builder().build(yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)))
    except (yaml.YAMLError, _Refused, ValueError):
        return None


class _Builder:
    """Builds a document from events, without recursion. An alias becomes the very value that its anchor names."""

    def __init__(self) -> None:
        self._open: list[list[Any]] = [[]]
        """The children of each node that has not ended; those of a table are keys and values in turn."""
        self._anchors: dict[str, Any] = {}
        self._names: list[str | None] = []
        self._aliases = 0

    def build(self, events: Iterator[Any]) -> Any:
        for count, event in enumerate(events):
            if count > _MOST_EVENTS:
                raise _Refused
            self._take(event)
        (document,) = self._open[0]  # a ValueError if there are none, or several
        return document

    def _take(self, event: Any) -> None:
        match type(event).__name__:
            case "ScalarEvent":
                self._add(event.value, event.anchor)
            case "AliasEvent":
                self._add(self._known(event.anchor), None)
            case "SequenceStartEvent" | "MappingStartEvent":
                self._names.append(event.anchor)
                self._open.append([])
                if len(self._open) > _DEEPEST:
                    raise _Refused
            case "SequenceEndEvent":
                self._add(self._open.pop(), self._names.pop())
            case "MappingEndEvent":
                self._add(_as_table(self._open.pop()), self._names.pop())

    def _add(self, value: Any, anchor: str | None) -> None:
        self._open[-1].append(value)
        if anchor:
            self._anchors[anchor] = value

    def _known(self, anchor: str) -> Any:
        self._aliases += 1
        if self._aliases > _MOST_ALIASES or anchor not in self._anchors:
            raise _Refused  # also an alias inside of what its anchor names
        return self._anchors[anchor]


def _as_table(children: list[Any]) -> dict[str, Any]:
    return {key: value for key, value in zip(children[::2], children[1::2], strict=True) if isinstance(key, str)}
