"""What git says of one file, as rows for a page: unified, or old and new side by side. Pure.

Rule: a row holds exactly the text of its line. What draws nothing, or turns text around, is a piece of its own that
names it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO

from bot.text.visible import is_unseen

LONGEST_LINE = 2000
"""More of a line is counted, not shown."""

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)", re.DOTALL)
_LONGEST_BLOCK = 1000
"""What was removed in one piece that is longer stands across from nothing."""
_ALIKE = 0.3
"""Two lines have at least so much in common, or no word in them is marked."""

Runs = Sequence[tuple[int, str]]
"""How many letters, in which colour; the rest of the line has none."""


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    colour: str = ""
    marked: bool = False
    """It is what differs from the line across."""
    named: bool = False
    """The letter itself would not be seen: this is its name."""


@dataclass(frozen=True, slots=True)
class Line:
    sign: str
    """`-`, `+` or a space."""
    old: int | None
    new: int | None
    text: str
    whole: bool = True
    """False: the file ends here, without a line end."""
    marked: tuple[int, int] = (0, 0)

    @property
    def is_context(self) -> bool:
        return self.sign == " "


@dataclass(frozen=True, slots=True)
class Row:
    """In a unified view only `left` is there, whatever its sign."""

    left: Line | None = None
    right: Line | None = None
    heading: str | None = None


def unified(patch: bytes) -> Iterator[Row]:
    for heading, removed, added, context in _parts(patch):
        if heading is not None:
            yield Row(heading=heading)
        pairs = [_compared(old, new) for old, new in zip(removed, added, strict=False)]
        yield from (Row(old) for old, _ in pairs)
        yield from (Row(old) for old in removed[len(pairs) :])
        yield from (Row(new) for _, new in pairs)
        yield from (Row(line) for line in (*added[len(pairs) :], *context))


def side_by_side(patch: bytes) -> Iterator[Row]:
    for heading, removed, added, context in _parts(patch):
        if heading is not None:
            yield Row(heading=heading)
        pairs = [_compared(old, new) for old, new in zip(removed, added, strict=False)]
        yield from (Row(old, new) for old, new in pairs)
        yield from (Row(old, None) for old in removed[len(pairs) :])
        yield from (Row(None, new) for new in added[len(pairs) :])
        yield from (Row(line, line) for line in context)


_Part = tuple[str | None, Sequence[Line], Sequence[Line], Sequence[Line]]
"""A hunk's heading; or what was removed, what came in its place, and one line that stayed."""


def _parts(patch: bytes) -> Iterator[_Part]:
    """So few lines are held at once that it does not matter how many there are."""
    removed: list[Line] = []
    added: list[Line] = []
    for one in _lines(patch):
        if isinstance(one, Line) and one.sign == "-" and not added and len(removed) < _LONGEST_BLOCK:
            removed.append(one)
        elif isinstance(one, Line) and one.sign == "+" and len(added) < len(removed):
            added.append(one)
        else:
            if removed:
                yield None, removed, added, ()
                removed, added = [], []
            if isinstance(one, str):
                yield one, (), (), ()
            elif one.sign == "-":
                removed = [one]
            else:
                yield None, (), *(((one,), ()) if one.sign == "+" else ((), (one,)))
    if removed:
        yield None, removed, added, ()


def _lines(patch: bytes) -> Iterator[Line | str]:
    """Of one file, with the headings of its hunks. Lines end with a line feed and nothing else, as git sees it."""
    last: Line | None = None
    old = new = 0
    is_begun = False
    for raw in BytesIO(patch):
        text = raw.removesuffix(b"\n").decode(errors="replace")
        if text.startswith("\\") and last:
            last = replace(last, whole=False)
            continue
        if last:
            yield last
            last = None
        if text.startswith("@@") and (header := _HUNK.match(text)):
            old, new, is_begun = int(header[1]), int(header[2]), True
            yield header[3]
        elif is_begun:
            sign = text[:1]
            last = Line(sign, old if sign != "+" else None, new if sign != "-" else None, text[1:])
            old, new = old + (sign != "+"), new + (sign != "-")
    if last:
        yield last


def _compared(old: Line, new: Line) -> tuple[Line, Line]:
    """With what is different in them marked, where the rest is the same."""
    one, two = old.text[:LONGEST_LINE], new.text[:LONGEST_LINE]
    most = min(len(one), len(two))
    head = next((at for at in range(most) if one[at] != two[at]), most)
    tail = next((at for at in range(most - head) if one[-1 - at] != two[-1 - at]), most - head)
    if head + tail < _ALIKE * max(len(one), len(two)) or head + tail == 0:
        return old, new
    return replace(old, marked=(head, len(one) - tail)), replace(new, marked=(head, len(two) - tail))


def pieces(line: Line, runs: Runs = ()) -> tuple[Piece, ...]:
    """The line's text in order, cut where the colour changes, a mark begins or ends, or a letter needs a name."""
    text = line.text[:LONGEST_LINE]
    found = [
        piece
        for start, end, colour in _stretches(len(text), runs)
        for part, is_marked in _split(text, start, end, line.marked)
        for piece in _named(part, colour, marked=is_marked)
    ]
    if len(line.text) > LONGEST_LINE:
        found.append(Piece(f"… {len(line.text) - LONGEST_LINE:,} more characters", named=True))
    return tuple(found)


def _stretches(length: int, runs: Runs) -> Iterator[tuple[int, int, str]]:
    at = 0
    for size, colour in runs:
        if at < length and size > 0:
            yield at, min(at + size, length), colour
            at = min(at + size, length)
    if at < length:
        yield at, length, ""


def _split(text: str, start: int, end: int, marked: tuple[int, int]) -> Iterator[tuple[str, bool]]:
    first, last = max(start, min(end, marked[0])), max(start, min(end, marked[1]))
    for begin, stop, is_marked in ((start, first, False), (first, last, True), (last, end, False)):
        if begin < stop:
            yield text[begin:stop], is_marked


def _named(text: str, colour: str, *, marked: bool) -> Iterator[Piece]:
    if text.isprintable():
        yield Piece(text, colour, marked)
        return
    plain = ""
    for letter in text:
        if letter == "\t" or not is_unseen(letter):
            plain += letter
            continue
        if plain:
            yield Piece(plain, colour, marked)
        yield Piece(name_of(letter), colour, marked, named=True)
        plain = ""
    if plain:
        yield Piece(plain, colour, marked)


def name_of(letter: str) -> str:
    """Of one that is not seen."""
    return r"\r" if letter == "\r" else f"U+{ord(letter):04X}"
