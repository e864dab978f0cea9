"""Tells the code in Markdown from the rest of it, where that is beyond doubt.

In code everything is seen as it stands; around it, markup may hide. So whatever could be read in two ways is not code:
a text that only looks like code to us must not carry anything past people.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_FENCE = re.compile(r"(?P<indent> {0,3})(?P<marks>`{3,}(?=[^`]*$)|~{3,})")
_CONTAINER = re.compile(r"[ \t]*(?:[-*+]|\d+[.)]|>|\[\^)")
_MARKUP = re.compile(r"[ \t>*+\-\d.)]*<")
_COMMENT = re.compile(r" {0,3}<!--")
_PAST_BLANK_LINES = re.compile(r" {0,3}<(?:\?|!(?!--)|!---?>|(?:pre|script|style|textarea)(?![\w-]))", re.IGNORECASE)


class Kind(Enum):
    CODE = "code"
    FENCE = "fence"
    """The line that code begins with; only its sign and a language belong there."""
    PROSE = "prose"
    DOUBTFUL = "doubtful"
    """Code and prose that cannot be told apart."""


@dataclass(frozen=True, slots=True)
class Part:
    kind: Kind
    text: str


def parts_of(text: str) -> Iterator[Part]:
    """Fenced code and what is around it, in order; together they are the text."""
    lines, found = text.splitlines(keepends=True), _Lines()
    at = 0
    for number, line in enumerate(lines):
        kind = found.kind_of(line)
        if kind is Kind.DOUBTFUL:
            yield from _joined(found, lines[at:number])
            yield Part(Kind.DOUBTFUL, "".join(lines[number:]))
            return
        if kind is not found.kind:
            yield from _joined(found, lines[at:number])
            at, found.kind = number, kind
    yield from _joined(found, lines[at:])


def _joined(found: "_Lines", lines: list[str]) -> Iterator[Part]:
    if lines:
        yield Part(found.kind, "".join(lines))


class _Lines:
    """What a line is, after those before it."""

    def __init__(self) -> None:
        self.kind = Kind.PROSE
        self._closing = ""
        self._in_comment = False
        self._in_markup = False
        self._in_container = False

    def kind_of(self, line: str) -> Kind:
        if self._closing:
            return self._in_code(line)
        if self._in_comment:
            self._in_comment = "-->" not in line
            return Kind.PROSE
        if fence := _FENCE.match(line.rstrip("\n")):
            return self._fenced(fence["indent"], fence["marks"])
        return self._in_prose(line)

    def _in_code(self, line: str) -> Kind:
        stripped = line.strip(" \t\n")
        ends = len(stripped) >= len(self._closing) and set(stripped) == {self._closing[0]}
        if ends and len(line) - len(line.lstrip(" ")) <= 3 and not line.lstrip(" ").startswith("\t"):  # noqa: PLR2004
            self._closing = ""
        return Kind.CODE

    def _fenced(self, indent: str, marks: str) -> Kind:
        if self._in_markup or (indent and self._in_container):
            return Kind.DOUBTFUL
        self._closing = marks
        return Kind.FENCE

    def _in_prose(self, line: str) -> Kind:
        if _PAST_BLANK_LINES.match(line):
            return Kind.DOUBTFUL
        if comment := _COMMENT.match(line):
            return self._comment(line, indented=comment.end() > len("<!--"))
        self._in_container = self._in_container or bool(_CONTAINER.match(line))
        self._in_markup = bool(line.strip()) and (self._in_markup or bool(_MARKUP.match(line)))
        return Kind.PROSE

    def _comment(self, line: str, *, indented: bool) -> Kind:
        self._in_comment = "-->" not in line
        unclear = self._in_markup or (indented and self._in_container)
        return Kind.DOUBTFUL if self._in_comment and unclear else Kind.PROSE
