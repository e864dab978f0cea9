"""Finds what is hidden in a paragraph of Markdown, from left to right, as GitHub's parser does.

Rule: each letter is looked at a few times, whatever the text; where parsers disagree, the rest of the paragraph goes.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.text.html_tags import LONGEST_WORD, SHOWN_AS_TEXT, StrictTags, is_address, may_hide_more, read_tag, strip_tag
from bot.text.link_definitions import Definition, normalize_label, read_destination, read_label
from bot.text.raw_html import hidden_entity, read_html, read_instruction
from bot.text.visible_pieces import Piece

_MARK = re.compile(r"[\\`<&\[\]]|!\[|://|[wW]{3}\.")
_TICKS = re.compile(r"`+")
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+)>")
_WORD = re.compile(r"[^\s<]*")
_HIDING = ("<", "](", "][", "![", "[^")
_MEANINGFUL = re.compile(r"[`<\[&\\]")
_ONE_WORD = re.compile(rf"[\w.:@+/-]{{0,{LONGEST_WORD}}}")


def is_one_word(text: str) -> bool:
    return bool(_ONE_WORD.fullmatch(text))


@dataclass(slots=True)
class References:
    """Definitions of the whole text, and which of them it uses."""

    definitions: Mapping[str, Definition] = field(default_factory=dict)
    notes: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)
    used_notes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Opener:
    """A bracket that may begin a link or an image."""

    at: int
    is_image: bool
    pieces: int
    """Number of pieces before it."""
    has_bracket_inside: bool = False


def read_inline(text: str, start: int, references: References) -> Sequence[Piece]:
    """`start` is the position of the text in the whole."""
    if not _MARK.search(text):
        return ()
    return _Inline(text, start, references).read()


class _Inline:
    def __init__(self, text: str, start: int, references: References) -> None:
        self._text, self._start, self._references = text, start, references
        self._pieces: list[Piece] = []
        self._openers: list[_Opener] = []
        self._inside_link = 0
        """Openers before this number are within a link's text: no link begins there."""
        self._tags = StrictTags(text)
        self._word_end = 0
        self._ticks: dict[int, list[int]] = defaultdict(list)
        for ticks in _TICKS.finditer(text):
            self._ticks[len(ticks[0])].append(ticks.start())
        self._last_hiding = max(map(text.rfind, _HIDING))

    def read(self) -> Sequence[Piece]:
        at = 0
        while found := _MARK.search(self._text, at):
            at = self._read_mark(found[0], found.start())
        return self._pieces

    def _read_mark(self, mark: str, at: int) -> int:
        """Returns the position to continue at."""
        match mark:
            case "\\":
                return at + (2 if self._text[at + 1 : at + 2] in _ESCAPABLE else 1)
            case "`":
                return self._read_code(at)
            case "<":
                return self._read_angle(at)
            case "&":
                return self._take(hidden_entity(self._text, self._start, at), at + 1)
            case "[" | "![":
                return self._open(at, mark)
            case "]":
                return self._close(at)
            case _:
                return self._read_address(at, at + len(mark))

    def _take(self, piece: Piece | None, otherwise: int) -> int:
        if piece is None:
            return otherwise
        self._pieces.append(piece)
        return piece.end - self._start

    def _replace(self, start: int, end: int, text: str = "") -> int:
        self._pieces.append(Piece(self._start + start, self._start + end, text))
        return end

    def _doubt(self, at: int) -> int:
        """Removes the rest: parsers disagree about what of it is visible."""
        rest = self._text[at:].rstrip("\n")
        end = self._start + at + len(rest)
        self._pieces.append(Piece(self._start + at, end, is_last=may_hide_more(rest)))
        return len(self._text)

    def _read_code(self, at: int) -> int:
        ticks = _TICKS.match(self._text, at)
        after = ticks.end() if ticks else at + 1
        others = self._ticks[after - at]
        closing = bisect_left(others, after)
        return others[closing] + after - at if closing < len(others) else after

    def _read_address(self, at: int, after: int) -> int:
        """Some parsers treat everything up to the next space as the link, markup included."""
        if self._openers or at < self._word_end:
            return after
        word = _WORD.match(self._text, at)
        self._word_end = word.end() if word else after
        unclear = re.search(r"[`\\\[]", self._text[at : self._word_end])
        if unclear and self._last_hiding >= at + unclear.start():
            return self._doubt(at + unclear.start())
        return after

    # HTML

    def _read_angle(self, at: int) -> int:
        if self._text.startswith("<!--", at):
            return self._read_comment(at)
        if link := _AUTOLINK.match(self._text, at):
            return link.end()
        following = self._text[at + 1 : at + 3]
        if following[:1] == "?" or (following[:1] == "!" and (following[1:].isalpha() or following[1:] == "[")):
            return self._read_instruction(at)
        end = self._tags.end_of(at)
        if end >= 0:
            return self._read_tag(at, end)
        return self._read_stray_end(at) if following[:1] == "/" else at + 1

    def _read_comment(self, at: int) -> int:
        for empty in ("<!-->", "<!--->"):
            if self._text.startswith(empty, at):
                return self._replace(at, at + len(empty))
        end = self._text.find("-->", at + 4)
        if end < 0:
            return at + 4
        body = self._text[at + 4 : end]
        if ("--" in body or body.endswith("-")) and _MEANINGFUL.search(body):
            return self._doubt(at)
        return self._replace(at, end + 3)

    def _read_instruction(self, at: int) -> int:
        found = read_instruction(self._text, self._start, at)
        if not found:
            return at + 1
        piece, end = found
        if _MEANINGFUL.search(self._text, at + 1, end):
            return self._doubt(at)
        self._pieces.append(piece)
        return end

    def _read_tag(self, at: int, end: int) -> int:
        source = self._text[at:end]
        tag = read_tag(source, 0)
        if tag is None or tag.source != source:
            return self._doubt(at)
        if tag.name in SHOWN_AS_TEXT:
            inside = at + len(tag.name) + 1
            for piece in read_html(self._text[inside:end], self._start + inside):
                self._pieces.append(piece._replace(is_last=piece.is_last or piece.is_unfinished))
            return end
        left = strip_tag(tag)
        self._pieces.append(Piece(self._start + at, self._start + end, left, int(left != source), tag))
        return end

    def _read_stray_end(self, at: int) -> int:
        """Removes what looks like the end of an element and is none: not every parser shows it."""
        end = self._text.find(">", at)
        if end < 0:
            return at + 1
        return self._doubt(at) if _MEANINGFUL.search(self._text, at + 1, end) else self._replace(at, end + 1)

    # Links and images

    def _open(self, at: int, mark: str) -> int:
        if self._openers:
            self._openers[-1].has_bracket_inside = True
        self._openers.append(_Opener(at, mark == "![", len(self._pieces)))
        return at + len(mark)

    def _close(self, at: int) -> int:
        if not self._openers:
            return at + 1
        opener = self._openers.pop()
        is_inside_link = len(self._openers) < self._inside_link
        self._inside_link = min(self._inside_link, len(self._openers))
        if is_inside_link and not opener.is_image:
            return at + 1
        return self._read_link(opener, at) or self._read_reference(opener, at) or self._read_note(opener, at)

    def _read_link(self, opener: _Opener, at: int) -> int:
        """Returns 0 if there is no address in brackets."""
        found = read_destination(self._text, at + 2) if self._text.startswith("(", at + 1) else None
        if not found:
            return 0
        address = self._text[found.start : found.end]
        safe = safe_address(address)
        if opener.is_image:
            self._replace_image(opener, at, found.after, f"({safe})", is_kept=not found.has_title and safe == address)
            return found.after
        if found.has_title or safe != address:
            self._replace(at, found.after, f"]({safe})")
        self._inside_link = len(self._openers)
        return found.after

    def _replace_image(self, opener: _Opener, at: int, end: int, target: str, *, is_kept: bool) -> None:
        """Removes the alternative text: readers see the image instead."""
        words = self._text[opener.at + 2 : at]
        if not is_kept or not is_one_word(words):
            del self._pieces[opener.pieces :]
            self._replace(opener.at, end, f"![{words if is_one_word(words) else ''}]{target}")

    def _read_reference(self, opener: _Opener, at: int) -> int:
        """Returns 0 if nothing is defined by this name."""
        label = read_label(self._text, at + 1) if self._text.startswith("[", at + 1) else None
        end = at + 1 if label is None else at + len(label) + 3
        spoken = "" if opener.has_bracket_inside else self._text[opener.at + 1 + opener.is_image : at]
        key = normalize_label(label or spoken)
        definition = self._references.definitions.get(key)
        if not definition:
            return 0
        is_kept = is_one_word(label or "")
        if opener.is_image:
            is_kept = is_kept and is_one_word(self._text[opener.at + 2 : at])
            self._replace_image(opener, at, end, f"({safe_address(definition.address)})", is_kept=is_kept)
        else:
            if not is_kept:
                self._replace(at, end, f"]({safe_address(definition.address)})")
            self._inside_link = len(self._openers)
        if is_kept:
            self._references.used.add(key)
        return end

    def _read_note(self, opener: _Opener, at: int) -> int:
        key = self._text[opener.at + 2 : at].casefold()
        if not opener.is_image and self._text.startswith("^", opener.at + 1) and key in self._references.notes:
            self._references.used_notes.add(key)
            if not is_one_word(key):
                self._replace(opener.at, at + 1)
        return at + 1


def safe_address(target: str) -> str:
    """Returns the link's target; empty if it can carry hidden text."""
    bare = target[1:-1] if target.startswith("<") else target
    return target if is_address(bare) else ""
