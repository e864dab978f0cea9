"""Reads the parts of Markdown links: labels, addresses, titles, and definitions at the start of a paragraph."""

import re
from typing import NamedTuple

_DEEPEST = 8
"""Brackets in an address; with more of them, nothing is a link of a person."""

_INSIDE_LABEL = re.compile(r"(?:[^\[\]\\]|\\.){0,1000}", re.DOTALL)
_POINTED = re.compile(r"<(?:[^<>\n\\]|\\.)*>")
_ADDRESS_PART = re.compile(r"[^\s()\\]+|\\[!-/:-@\[-`{-~]?|[()]")
_SPACES = re.compile(r"[ \t]*\n?[ \t]*")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_INSIDE_TITLE = {
    '"': re.compile(r"(?:[^\"\\]|\\.)*", re.DOTALL),
    "'": re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL),
    "(": re.compile(r"(?:[^()\\]|\\.)*", re.DOTALL),
}
_LONGEST_LABEL = 999
"""https://spec.commonmark.org/0.31.2/#link-label"""


class Destination(NamedTuple):
    """A link's address, `text[start:end]`, and the end of its title."""

    start: int
    end: int
    after: int
    """Behind the title."""
    has_title: bool


class Definition(NamedTuple):
    label: str
    address: str
    start: int
    address_end: int
    end: int
    """Without the line end."""


def normalize_label(label: str) -> str:
    return " ".join(label.split()).casefold()


def read_label(text: str, at: int) -> str | None:
    """`text[at]` is the bracket before it."""
    end = _end_of_inside(_INSIDE_LABEL, text, at + 1, "]")
    return text[at + 1 : end] if at < end <= at + 1 + _LONGEST_LABEL else None


def read_address(text: str, at: int) -> int:
    """Returns the end of the address that begins here; -1 if none does."""
    if text.startswith("<", at):
        found = _POINTED.match(text, at)
        return found.end() if found else -1
    depth = 0
    while part := _ADDRESS_PART.match(text, at):
        if part[0] == "(":
            depth += 1
        elif part[0] == ")":
            depth -= 1
        if depth < 0 or depth > _DEEPEST:
            break
        at = part.end()
    return at


def read_title(text: str, at: int) -> int:
    """Returns the end of the title that begins here; -1 if none does."""
    inside = _INSIDE_TITLE.get(text[at : at + 1])
    if not inside:
        return -1
    close = ")" if text[at] == "(" else text[at]
    return _end_of_inside(inside, text, at + 1, close) + 1 or -1


def _end_of_inside(inside: re.Pattern[str], text: str, start: int, close: str) -> int:
    """Returns where the mark stands that ends it; -1 if none does. One after a backslash does if no other does."""
    found = inside.match(text, start)
    end = found.end() if found else start
    return end if text.startswith(close, end) else text.rfind(close, start, end)


def read_destination(text: str, at: int) -> Destination | None:
    """Returns the address and the title in the brackets behind a link's text, or None; `at` is behind `(`."""
    start = _skip_white(text, at)
    end = read_address(text, start)
    if end < 0:
        return None
    after = _skip_white(text, end)
    title = read_title(text, after) if after > end else -1
    if title >= 0:
        after = _skip_white(text, title)
    return Destination(start, end, after + 1, title >= 0) if text.startswith(")", after) else None


_WHITE = re.compile(r"\s*")


def _skip_white(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    return found.end() if found else at


def _skip_line_end(text: str, at: int) -> int:
    found = _SPACES.match(text, at)
    return found.end() if found else at


def read_definitions(text: str, start: int) -> tuple[list[Definition], int]:
    """Returns the definitions that a paragraph begins with, and where its other text begins."""
    found: list[Definition] = []
    at = 0
    while read := _read_definition(text, _skip_white(text, at), start):
        definition, at = read
        found.append(definition)
    return found, at


def _read_definition(text: str, at: int, start: int) -> tuple[Definition, int] | None:
    """Returns a definition, and where the line behind it begins."""
    label = read_label(text, at) if text.startswith("[", at) else None
    if not label or not label.strip():
        return None
    behind = at + len(label) + 2
    if not text.startswith(":", behind):
        return None
    begin = _skip_line_end(text, behind + 1)
    end = read_address(text, begin)
    if end <= begin:
        return None
    after = _end_of_definition(text, end)
    if after < 0:
        return None
    stop = len(text[:after].rstrip("\n"))
    return Definition(normalize_label(label), text[begin:end], start + at, start + end, start + stop), after


def _end_of_definition(text: str, end: int) -> int:
    """Returns where the line behind it begins; -1 if there is more on the line of its address."""
    title_at = _skip_line_end(text, end)
    title = read_title(text, title_at) if title_at > end else -1
    for at in (title, end):
        if at >= 0 and (rest := _REST_OF_LINE.match(text, at)):
            return rest.end()
    return -1
