"""Takes out of Markdown what its readers do not see: comments, hidden elements, attributes, alternative texts."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from html import unescape
from typing import NamedTuple

from bot.text import markdown_patterns as marks
from bot.text.markdown_blocks import Kind, parts_of
from bot.text.visible import is_unseen

_EMPTY = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_LONGEST_TAG = 4000
_END_WITH_THE_PARAGRAPH = frozenset({"p", "picture"})


class _Piece(NamedTuple):
    text: str
    gone: int = 0
    """Passages that were taken out of it."""
    name: str = ""
    """Of the element that begins or ends here."""
    ends: bool = False
    hides: bool = False
    """What the element holds is not seen."""
    blank: bool = False
    last: bool = False
    """Nothing after it is seen."""


_GONE = _Piece("", gone=1)
_BLANK = _Piece("\n", blank=True)
_MOST_MARKS = 12_000
"""In a text of a usual length; nobody writes more."""


def without_unseen(text: str) -> tuple[str, int]:
    """What is left, and how many passages are not."""
    if not marks.WORTH_A_LOOK.search(text):
        return text, 0
    if sum(map(text.count, "<<<&&[[`\n")) > max(_MOST_MARKS, len(text) // 5):  # the dearest count for more
        return without_markup(text), 0
    seen = _Seen()
    for piece in _pieces(text):
        seen.take(piece)
    return "".join(seen.texts), seen.gone


def without_markup(text: str) -> str:
    """Nothing in it means anything any more."""
    return re.sub(r"[<&]|!(?=\[)|\](?=[(:])", " ", text)


class _Seen:
    """What is seen, piece by piece."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.gone = 0
        self._inside = ""
        self._depth = 0

    def take(self, piece: _Piece) -> None:
        if self._inside:
            self._pass_over(piece)
            return
        self.gone += piece.gone
        if piece.hides:
            self._inside, self._depth = piece.name, 1
        self._add(piece.text)

    def _pass_over(self, piece: _Piece) -> None:
        if piece.name == self._inside:
            self._depth += -1 if piece.ends else 1
        if self._inside == "picture" and piece.name == "img":
            self._add(piece.text)
        if piece.blank and self._inside in _END_WITH_THE_PARAGRAPH:
            self._inside = ""
            self._add(piece.text)
        elif not self._depth:
            self._inside = ""

    def _add(self, text: str) -> None:
        """What stood around something that is gone must not join."""
        if text:
            self.texts.append(text)
        elif self.texts and not self.texts[-1][-1].isspace():
            self.texts.append(" ")


def _pieces(text: str) -> Iterator[_Piece]:
    labels = _Labels(text)
    for part in parts_of(text):
        if part.kind is Kind.CODE:
            yield _Piece(part.text)
            continue
        if part.kind is Kind.FENCE:
            yield _fence(part.text)
            continue
        for piece in _Prose(part.text, labels, doubtful=part.kind is Kind.DOUBTFUL).pieces():
            yield piece
            if piece.last:
                return


def _fence(line: str) -> _Piece:
    """What follows the language is shown nowhere."""
    found = marks.FENCE.match(line)
    kept = found[0] if found else line
    return _Piece(f"{kept}\n", gone=1) if line[len(kept) :].strip() else _Piece(line)


class _Labels:
    """What is in brackets, all over the text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _found(self) -> Counter[str]:
        return Counter(label.lower() + colon for label, colon in marks.LABEL.findall(self._text))

    def is_defined(self, label: str) -> bool:
        return self._found[f"{label.lower()}:"] > 0

    def is_used(self, label: str) -> bool:
        """Besides where it is defined."""
        return self._found[label.lower()] > 0


class _Prose:
    """Lines that are not code, mark by mark."""

    def __init__(self, text: str, labels: _Labels, *, doubtful: bool) -> None:
        self._text, self._labels, self._doubtful = f"\n{text}", labels, doubtful
        self._in_markup = doubtful or bool(marks.STARTS_WITH_MARKUP.match(text))
        self._is_loose = False

    def pieces(self) -> Iterator[_Piece]:
        """The line end put before the first line is not a part of it."""
        first = True
        for piece in self._all():
            yield piece._replace(text=piece.text.removeprefix("\n")) if first else piece
            first = False

    def _all(self) -> Iterator[_Piece]:
        at = kept = 0
        while found := self._marks.search(self._text, at):
            piece, at = self._piece(found)
            if piece:
                if found.start() > kept:
                    yield _Piece(self._text[kept : found.start()])
                yield piece
                kept = at
        if kept < len(self._text):
            yield _Piece(self._text[kept:])

    @property
    def _marks(self) -> re.Pattern[str]:
        if self._in_markup:
            return marks.IN_MARKUP
        return marks.AFTER_A_LOOSE_TICK if self._is_loose else marks.IN_TEXT

    def _piece(self, found: re.Match[str]) -> tuple[_Piece | None, int]:
        """None: it is just what it is. And where to go on."""
        match found.lastgroup:
            case "comment":
                return self._past(found, "-->") if found[0] == "<!--" else (_GONE, found.end())
            case "odd":
                return self._past(found, ">")
            case "endless":
                return _Piece("", gone=1, last=True), len(self._text)
            case "broken":
                rest = marks.PARAGRAPH.match(self._text, found.start())
                return _GONE, max(found.end(), rest.end() if rest else 0)
            case "note":
                return self._note(found)
            case _:
                return self._simple(found), found.end()

    def _past(self, found: re.Match[str], end: str) -> tuple[_Piece | None, int]:
        at = self._text.find(end, found.end())
        if at >= 0:
            return _GONE, at + len(end)
        if self._in_markup:
            return _Piece("", gone=1, last=True), len(self._text)
        return None, found.end()

    def _note(self, found: re.Match[str]) -> tuple[_Piece | None, int]:
        """One that nothing refers to is not shown."""
        if self._labels.is_used(f"^{found['key']}"):
            return None, found.end()
        rest = marks.REST_OF_NOTE.match(self._text, found.end())
        return _Piece("\n", gone=1), rest.end() if rest else found.end()

    def _simple(self, found: re.Match[str]) -> _Piece | None:  # noqa: C901 - one case per mark
        match found.lastgroup:
            case "blank" | "loose" | "markup":
                return self._moved(found.lastgroup)
            case "tag":
                return _tag(found)
            case "cut":
                return _GONE
            case "info" if found["more"].strip():
                return _Piece(found[0].removesuffix(found["more"]), gone=1)
            case "image":
                return self._image(found)
            case "link":
                return _link(found)
            case "definition":
                return self._definition(found)
            case "entity" if all(map(is_unseen, unescape(found[0]))):
                return _GONE
        return None

    def _moved(self, mark: str) -> _Piece | None:
        match mark:
            case "blank":
                self._in_markup, self._is_loose = self._doubtful, False
                return _BLANK
            case "loose":
                self._is_loose = True
                return None
            case _:
                self._in_markup = True
                return None

    def _image(self, found: re.Match[str]) -> _Piece | None:
        """Its text is only seen where the image is not."""
        alt, at, reference = found["alt"], found["at"], found["reference"]
        if at is None and not reference and not self._labels.is_defined(alt):
            return None
        source = f"({_address(at)})" if at is not None else reference or ""
        text = f"![{alt if marks.ONE_WORD.fullmatch(alt) else ''}]{source}"
        return _Piece(text, gone=1) if text != found[0] else None

    def _definition(self, found: re.Match[str]) -> _Piece | None:
        """Only what refers to it is seen."""
        label = found["label"]
        if not _address(found["to"]) or not (marks.ONE_WORD.fullmatch(label) or self._labels.is_used(label)):
            return _Piece("\n", gone=1)
        return _Piece(found[0][: found.end("to") - found.start()], gone=1) if found["named"] else None


def _link(found: re.Match[str]) -> _Piece | None:
    address = _address(found["target"])
    return _Piece(f"]({address})", gone=1) if found["hint"] or address != found["target"] else None


def _address(target: str) -> str:
    """Where a link leads. With spaces in it, it may be a letter to somebody; so may data."""
    return target if marks.ADDRESS.fullmatch(target.removeprefix("<").removesuffix(">")) else ""


def _tag(found: re.Match[str]) -> _Piece:
    """Its name and where it leads; nobody sees another attribute of it."""
    closing, name, rest = found["closing"], found["name"].lower(), found["rest"]
    if len(name) > marks.LONGEST_WORD or name == "source":
        return _GONE
    if closing or (not rest and name != "picture"):
        return _Piece(f"<{closing}{found['name']}>", name=name, ends=bool(closing))
    if name == "picture" or len(rest) > _LONGEST_TAG or marks.is_hidden(rest):
        return _Piece("", 1, name, hides=name not in _EMPTY)
    if marks.SAYS_NOTHING.fullmatch(rest):
        return _Piece(found[0], name=name)
    slash = "/" if rest.rstrip().endswith("/") else ""
    text = f"<{found['name']}{_leads(rest)}{slash}>"
    return _Piece(text, int(text != found[0] and not _leads_only(rest)), name)


def _leads_only(attributes: str) -> bool:
    """Apart from what says nothing."""
    addresses = all(marks.ADDRESS.fullmatch(value.strip("\"'")) for _, value in marks.LEADS.findall(attributes))
    return addresses and bool(marks.SAYS_NOTHING.fullmatch(marks.LEADS.sub(" ", attributes)))


def _leads(attributes: str) -> str:
    found = ((name.lower(), value.strip("\"'")) for name, value in marks.LEADS.findall(attributes))
    return "".join(f' {name}="{address}"' for name, address in found if marks.ADDRESS.fullmatch(address))
