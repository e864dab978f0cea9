"""Diff view: turns git's patch of one file into rows of the page, unified or side by side. Pure.

Rule: a row holds exactly the text of its line. An invisible or direction-changing character is shown by its name.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO

from bot.text.invisible_characters import is_invisible

LONGEST_LINE = 2000
"""Characters of a line that are shown; the rest is only counted."""

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)", re.DOTALL)
_LONGEST_BLOCK = 1000
"""Lines of a removed block that are compared with the added ones."""
_LEAST_SIMILARITY = 0.3
"""Less similar lines get no marked difference."""

ColouredText = Sequence[tuple[int, str]]
"""Lengths and colours of the parts of a line; the rest of the line has no colour."""


@dataclass(frozen=True, slots=True)
class DiffPiece:
    text: str
    colour: str = ""
    marked: bool = False
    """Differs from the line on the other side."""
    named: bool = False
    """The text names an invisible character."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    sign: str
    """`-`, `+` or a space."""
    old: int | None
    new: int | None
    text: str
    has_line_end: bool = True
    marked: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A unified view uses only `left`, also for added lines."""

    left: DiffLine | None = None
    right: DiffLine | None = None
    heading: str | None = None


def unified(patch: bytes) -> Iterator[DiffRow]:
    for heading, removed, added, context in _parts(patch):
        if heading is not None:
            yield DiffRow(heading=heading)
        pairs = [_mark_difference(old, new) for old, new in zip(removed, added, strict=False)]
        yield from (DiffRow(old) for old, _ in pairs)
        yield from (DiffRow(old) for old in removed[len(pairs) :])
        yield from (DiffRow(new) for _, new in pairs)
        yield from (DiffRow(line) for line in (*added[len(pairs) :], *context))


def side_by_side(patch: bytes) -> Iterator[DiffRow]:
    for heading, removed, added, context in _parts(patch):
        if heading is not None:
            yield DiffRow(heading=heading)
        pairs = [_mark_difference(old, new) for old, new in zip(removed, added, strict=False)]
        yield from (DiffRow(old, new) for old, new in pairs)
        yield from (DiffRow(old, None) for old in removed[len(pairs) :])
        yield from (DiffRow(None, new) for new in added[len(pairs) :])
        yield from (DiffRow(line, line) for line in context)


_Part = tuple[str | None, Sequence[DiffLine], Sequence[DiffLine], Sequence[DiffLine]]
"""A hunk's heading, removed lines, the lines that replace them, and one unchanged line."""


def _parts(patch: bytes) -> Iterator[_Part]:
    """Holds one block of changed lines at a time, so the length of the patch does not matter."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in _lines(patch):
        if isinstance(line, DiffLine) and line.sign == "-" and not added and len(removed) < _LONGEST_BLOCK:
            removed.append(line)
        elif isinstance(line, DiffLine) and line.sign == "+" and len(added) < len(removed):
            added.append(line)
        else:
            if removed:
                yield None, removed, added, ()
                removed, added = [], []
            if isinstance(line, str):
                yield line, (), (), ()
            elif line.sign == "-":
                removed = [line]
            else:
                yield None, (), *(((line,), ()) if line.sign == "+" else ((), (line,)))
    if removed:
        yield None, removed, added, ()


def _lines(patch: bytes) -> Iterator[DiffLine | str]:
    """Yields lines and the headings of hunks. Only a line feed ends a line, as in git."""
    last: DiffLine | None = None
    old = new = 0
    in_hunk = False
    for raw in BytesIO(patch):
        text = raw.removesuffix(b"\n").decode(errors="replace")
        if text.startswith("\\") and last:
            last = replace(last, has_line_end=False)
            continue
        if last:
            yield last
            last = None
        if text.startswith("@@") and (header := _HUNK.match(text)):
            old, new, in_hunk = int(header[1]), int(header[2]), True
            yield header[3]
        elif in_hunk:
            sign = text[:1]
            last = DiffLine(sign, old if sign != "+" else None, new if sign != "-" else None, text[1:])
            old, new = old + (sign != "+"), new + (sign != "-")
    if last:
        yield last


def _mark_difference(old: DiffLine, new: DiffLine) -> tuple[DiffLine, DiffLine]:
    """Marks the difference between two similar lines."""
    old_text, new_text = old.text[:LONGEST_LINE], new.text[:LONGEST_LINE]
    most = min(len(old_text), len(new_text))
    head = next((at for at in range(most) if old_text[at] != new_text[at]), most)
    tail = next((at for at in range(most - head) if old_text[-1 - at] != new_text[-1 - at]), most - head)
    if head + tail < _LEAST_SIMILARITY * max(len(old_text), len(new_text)) or head + tail == 0:
        return old, new
    return replace(old, marked=(head, len(old_text) - tail)), replace(new, marked=(head, len(new_text) - tail))


def pieces_of(line: DiffLine, colours: ColouredText = ()) -> tuple[DiffPiece, ...]:
    """Cuts the line where its colour or mark changes, and at each character that needs a name."""
    text = line.text[:LONGEST_LINE]
    pieces = [
        piece
        for start, end, colour in _coloured_parts(len(text), colours)
        for part, is_marked in _split_at_mark(text, start, end, line.marked)
        for piece in _name_invisible(part, colour, marked=is_marked)
    ]
    if len(line.text) > LONGEST_LINE:
        pieces.append(DiffPiece(f"… {len(line.text) - LONGEST_LINE:,} more characters", named=True))
    return tuple(pieces)


def _coloured_parts(length: int, colours: ColouredText) -> Iterator[tuple[int, int, str]]:
    at = 0
    for size, colour in colours:
        if at < length and size > 0:
            yield at, min(at + size, length), colour
            at = min(at + size, length)
    if at < length:
        yield at, length, ""


def _split_at_mark(text: str, start: int, end: int, marked: tuple[int, int]) -> Iterator[tuple[str, bool]]:
    first, last = max(start, min(end, marked[0])), max(start, min(end, marked[1]))
    for begin, stop, is_marked in ((start, first, False), (first, last, True), (last, end, False)):
        if begin < stop:
            yield text[begin:stop], is_marked


def _name_invisible(text: str, colour: str, *, marked: bool) -> Iterator[DiffPiece]:
    if text.isprintable():
        yield DiffPiece(text, colour, marked)
        return
    plain = ""
    for letter in text:
        if letter == "\t" or not is_invisible(letter):
            plain += letter
            continue
        if plain:
            yield DiffPiece(plain, colour, marked)
        yield DiffPiece(name_of(letter), colour, marked, named=True)
        plain = ""
    if plain:
        yield DiffPiece(plain, colour, marked)


def name_of(letter: str) -> str:
    return r"\r" if letter == "\r" else f"U+{ord(letter):04X}"
