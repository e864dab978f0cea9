"""Removes the parts of Markdown that a reader does not see: comments, hidden elements, attributes, image texts.

Rule: the text is read once, from left to right; how long that takes grows with its length and nothing else.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from bot.text.html_tags import VOID_ELEMENTS, Tag, hides_content
from bot.text.inline_markup import References, is_one_word, read_inline, safe_address
from bot.text.markdown_blocks import Blocks, Leaf, LeafKind, Note, split_blocks
from bot.text.raw_html import read_html
from bot.text.visible_pieces import Piece, last_piece

_MAY_HIDE = re.compile(r"[<&\[|>]|```|~~~")
_LANGUAGE = re.compile(r"[ \t]*(?:[\w.+#-]{1,40}(?=[ \t]|\Z))?")
_CLOSED_ANYWHERE = frozenset((
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl", "fieldset",
    "figcaption", "figure", "footer", "header", "hgroup", "main", "menu", "nav", "ol", "pre", "search", "section",
    "summary", "ul"
))  # fmt: skip
"""Their end tags end them, whatever is open inside."""
_CLOSED_BY_NEXT_BLOCK = (["p"], ["picture"])


def remove_hidden(text: str) -> tuple[str, int]:
    """Returns the visible text and the number of passages removed."""
    if not _MAY_HIDE.search(text):
        return text, 0
    blocks = split_blocks(text)
    pieces, unused = _pieces(blocks)
    seen = _VisibleText(text)
    seen.read([*map(_without_note, unused), *pieces])
    if seen.is_cut and blocks.notes:  # notes are shown at the end
        seen = _VisibleText(text)
        seen.read([*map(_without_note, blocks.notes), *pieces])
    return "".join(seen.texts), seen.gone


def disable_markup(text: str) -> str:
    """Replaces every character that could begin markup with a space."""
    return re.sub(r"[<&|]|!(?=\[)|\](?=[(:\[])|[`~](?=[`~][`~])", " ", text)


def _pieces(blocks: Blocks) -> tuple[list[Piece], list[Note]]:
    """Returns the pieces of all leaves and definitions, and the footnotes without a reference."""
    first = {definition.label: definition for definition in reversed(blocks.definitions)}
    references = References(first, frozenset(note.key.casefold() for note in blocks.notes))
    in_notes = replace(references, used_notes=set())  # a note that only notes refer to is shown nowhere
    pieces: list[Piece] = []
    for leaf, is_in_note in _with_notes(blocks):
        pieces += _read_leaf(leaf, in_notes if is_in_note else references)
    for definition in blocks.definitions:
        is_used = definition.label in references.used and definition is first[definition.label]
        if not is_used or not safe_address(definition.address):
            pieces.append(Piece(definition.start, definition.end))
        elif definition.end > definition.address_end:
            pieces.append(Piece(definition.address_end, definition.end))
    return pieces, list(_unused_notes(blocks.notes, references.used_notes))


def _with_notes(blocks: Blocks) -> Iterator[tuple[Leaf, bool]]:
    """Yields each leaf and whether it is a part of a footnote."""
    notes, end = deque(blocks.notes), 0
    for leaf in blocks.leaves:
        while notes and notes[0].start <= leaf.start:
            end = max(end, notes.popleft().end)
        yield leaf, leaf.start < end


def _unused_notes(notes: list[Note], used: set[str]) -> Iterator[Note]:
    shown: set[str] = set()
    for note in notes:
        key = note.key.casefold()
        if key in shown or key not in used or not is_one_word(key):
            yield note
        shown.add(key)


def _without_note(note: Note) -> Piece:
    return Piece(note.start, note.end)


def _read_leaf(leaf: Leaf, references: References) -> Iterator[Piece]:
    yield Piece(leaf.start, leaf.start, gone=0, leaf=leaf.kind)
    match leaf.kind:
        case LeafKind.TEXT | LeafKind.FIELD:
            yield from read_inline(leaf.text, leaf.start, references)
        case LeafKind.HTML:
            yield from read_html(leaf.text, leaf.start)
        case LeafKind.INFO:
            language = _LANGUAGE.match(leaf.text)
            kept = language.end() if language else 0
            if leaf.text[kept:].strip():
                yield Piece(leaf.start + kept, leaf.start + len(leaf.text))
        case LeafKind.EXCESS:
            yield Piece(leaf.start, leaf.start + len(leaf.text))
        case LeafKind.TOO_DEEP:
            yield last_piece(leaf.start)
        case LeafKind.CODE:
            pass


class _VisibleText:
    """Collects what is visible between the pieces."""

    def __init__(self, source: str) -> None:
        self.texts: list[str] = []
        self.gone = 0
        self._source = source
        self._at = 0
        self._inside: list[str] = []
        """Names of the open elements, from the hidden one on."""
        self._leaf = self._hidden_since = 0
        self._kind = LeafKind.TEXT
        self._is_in_tag = self._is_over = False

    @property
    def is_cut(self) -> bool:
        """Something hides all that follows."""
        return self._is_over or bool(self._inside)

    def read(self, pieces: list[Piece]) -> None:
        for piece in sorted(pieces, key=lambda piece: piece.start):
            if self._is_over:
                return
            if piece.start >= self._at:
                self._take(piece)
        if not self.is_cut:
            self._keep(len(self._source))

    def _take(self, piece: Piece) -> None:
        if piece.leaf:
            self._begin_leaf(piece, piece.leaf)
            return
        if self._inside:
            self._pass_over(piece)
        else:
            self._keep(piece.start)
            self._show(piece)
        self._at = piece.end
        self._is_over = piece.is_last
        self._is_in_tag = piece.is_unfinished

    def _begin_leaf(self, piece: Piece, kind: LeafKind) -> None:
        """An element of one paragraph ends with it; the tag of the next block ends an unfinished one."""
        self._leaf += 1
        self._kind = kind
        if kind is LeafKind.HTML:
            self._is_over = self._is_in_tag
            self.gone += self._is_over
        elif self._inside in _CLOSED_BY_NEXT_BLOCK and not self._is_in_tag:
            self._inside.clear()
            self._at = piece.start
        self._is_in_tag = False

    def _keep(self, end: int) -> None:
        if end > self._at:
            self.texts.append(self._source[self._at : end])

    def _show(self, piece: Piece) -> None:
        self.gone += piece.gone
        if piece.tag and hides_content(piece.tag):
            self.gone += not piece.gone
            self._inside, self._hidden_since = [piece.tag.name], self._leaf
        elif piece.text:
            self.texts.append(piece.text)
            return
        if self.texts and not self.texts[-1][-1].isspace():  # the neighbouring lines must not join
            self.texts.append(" ")

    def _pass_over(self, piece: Piece) -> None:
        tag = piece.tag
        if not tag:
            return
        if tag.is_closing:
            self._close(tag)
        elif tag.name not in VOID_ELEMENTS:
            self._inside.append(tag.name)
        elif tag.name == "img" and self._inside == ["picture"]:
            self.texts.append(piece.text)

    def _close(self, tag: Tag) -> None:
        """The hidden element ends only where every browser ends it."""
        if self._inside[-1] != tag.name:
            return
        is_root = len(self._inside) == 1
        is_clear = self._leaf == self._hidden_since or (
            tag.name in _CLOSED_ANYWHERE and self._kind is not LeafKind.FIELD
        )
        if not is_root or is_clear:
            self._inside.pop()
