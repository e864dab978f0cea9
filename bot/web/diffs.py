"""What git says of one file, as rows for a page: unified, or old and new side by side. Pure.

Rule: a row holds exactly the text of its line. What draws nothing, or turns text around, is a piece of its own that
names it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from bot.domain.letters import is_unseen

LONGEST_LINE = 2000
"""More of a line is counted, not shown."""

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)", re.DOTALL)
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
class Hunk:
    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """In a unified view only `left` is there, whatever its sign."""

    left: Line | None = None
    right: Line | None = None
    heading: str | None = None


def parse_patch(patch: bytes) -> tuple[Hunk, ...]:
    """Of one file. Lines end with a line feed and nothing else, as git sees it."""
    found: list[_Reading] = []
    for raw in patch.removesuffix(b"\n").split(b"\n"):
        text = raw.decode(errors="replace")
        if text.startswith("@@") and (header := _HUNK.match(text)):
            found.append(_Reading(int(header[1]), int(header[2]), header[3]))
        elif found:
            found[-1].take(text)
    return tuple(Hunk(one.heading, tuple(_marked(one.lines))) for one in found)


@dataclass(slots=True)
class _Reading:
    """A hunk, line by line."""

    old: int
    new: int
    heading: str
    lines: list[Line] = field(default_factory=list)

    def take(self, text: str) -> None:
        sign = text[:1]
        if sign == "\\":
            self.lines[-1] = replace(self.lines[-1], whole=False)
            return
        is_old, is_new = sign != "+", sign != "-"
        self.lines.append(Line(sign, self.old if is_old else None, self.new if is_new else None, text[1:]))
        self.old, self.new = self.old + is_old, self.new + is_new


def _marked(lines: Sequence[Line]) -> Iterator[Line]:
    for removed, added, context in _blocks(lines):
        pairs = [_compared(old, new) for old, new in zip(removed, added, strict=False)]
        yield from (old for old, _ in pairs)
        yield from removed[len(pairs) :]
        yield from (new for _, new in pairs)
        yield from added[len(pairs) :]
        yield from context


def _blocks(lines: Sequence[Line]) -> Iterator[tuple[list[Line], list[Line], list[Line]]]:
    """What was removed, what came in its place, and one line that stayed."""
    removed: list[Line] = []
    added: list[Line] = []
    for line in lines:
        if line.sign == "-" and added:
            yield removed, added, []
            removed, added = [], []
        if line.is_context:
            yield removed, added, [line]
            removed, added = [], []
        else:
            (removed if line.sign == "-" else added).append(line)
    yield removed, added, []


def _compared(old: Line, new: Line) -> tuple[Line, Line]:
    """With what is different in them marked, where the rest is the same."""
    one, two = old.text[:LONGEST_LINE], new.text[:LONGEST_LINE]
    most = min(len(one), len(two))
    head = next((at for at in range(most) if one[at] != two[at]), most)
    tail = next((at for at in range(most - head) if one[-1 - at] != two[-1 - at]), most - head)
    if head + tail < _ALIKE * max(len(one), len(two)) or head + tail == 0:
        return old, new
    return replace(old, marked=(head, len(one) - tail)), replace(new, marked=(head, len(two) - tail))


def unified(hunks: Sequence[Hunk]) -> list[Row]:
    rows: list[Row] = []
    for hunk in hunks:
        rows.append(Row(heading=hunk.heading))
        rows += [Row(line) for line in hunk.lines]
    return rows


def side_by_side(hunks: Sequence[Hunk]) -> list[Row]:
    rows: list[Row] = []
    for hunk in hunks:
        rows.append(Row(heading=hunk.heading))
        for removed, added, context in _blocks(hunk.lines):
            rows += [Row(old, new) for old, new in zip_longest(removed, added)]
            rows += [Row(line, line) for line in context]
    return rows


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
