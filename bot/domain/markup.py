"""Takes out of Markdown what its readers do not see: comments, hidden elements, attributes, alternative texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from bot.domain import marks
from bot.domain.letters import is_unseen
from bot.domain.markdown import Kind, parts_of

_EMPTY = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
_END_WITH_THE_PARAGRAPH = frozenset({"p", "picture"})


@dataclass(frozen=True, slots=True)
class _Piece:
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


def without_unseen(text: str) -> tuple[str, int]:
    """What is left, and how many passages are not."""
    if not marks.WORTH_A_LOOK.search(text):
        return text, 0
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
    for part in parts_of(text):
        if part.kind is Kind.CODE:
            yield _Piece(part.text)
            continue
        for piece in _Prose(part.text, text, doubtful=part.kind is Kind.DOUBTFUL).pieces():
            yield piece
            if piece.last:
                return


class _Prose:
    """Lines that are not code, mark by mark."""

    def __init__(self, text: str, whole: str, *, doubtful: bool) -> None:
        self._text, self._whole, self._doubtful = f"\n{text}", whole.lower(), doubtful
        self._in_markup = doubtful or bool(marks.STARTS_WITH_MARKUP.match(text))
        self._is_loose = False

    def pieces(self) -> Iterator[_Piece]:
        """The line end put before the first line is not a part of it."""
        first = True
        for piece in self._all():
            yield _Piece(piece.text.removeprefix("\n"), piece.gone) if first else piece
            first = False

    def _all(self) -> Iterator[_Piece]:
        at = 0
        while found := self._marks.search(self._text, at):
            if found.start() > at:
                yield _Piece(self._text[at : found.start()])
            piece, at = self._piece(found)
            yield piece
        if at < len(self._text):
            yield _Piece(self._text[at:])

    @property
    def _marks(self) -> re.Pattern[str]:
        """Within markup, and after a tick without its fellow, ticks make no code."""
        return marks.IN_MARKUP if self._in_markup or self._is_loose else marks.IN_TEXT

    def _piece(self, found: re.Match[str]) -> tuple[_Piece, int]:
        """And where to go on."""
        match found.lastgroup:
            case "comment":
                return self._past(found, "-->") if found[0] == "<!--" else (_GONE, found.end())
            case "odd":
                return self._past(found, ">")
            case "note":
                return self._note(found)
            case _:
                return self._simple(found), found.end()

    def _past(self, found: re.Match[str], end: str) -> tuple[_Piece, int]:
        at = self._text.find(end, found.end())
        if at >= 0:
            return _GONE, at + len(end)
        if self._in_markup:
            return _Piece("", gone=1, last=True), len(self._text)
        return _Piece(found[0]), found.end()

    def _note(self, found: re.Match[str]) -> tuple[_Piece, int]:
        """One that nothing refers to is not shown."""
        if self._whole.count(f"[^{found['key'].lower()}]") > 1:
            return _Piece(found[0]), found.end()
        rest = marks.REST_OF_NOTE.match(self._text, found.end())
        return _Piece("\n", gone=1), rest.end() if rest else found.end()

    def _simple(self, found: re.Match[str]) -> _Piece:  # noqa: C901 - one case per mark
        match found.lastgroup:
            case "blank":
                self._in_markup, self._is_loose = self._doubtful, False
                return _Piece("\n", blank=True)
            case "loose":
                self._is_loose = True
            case "markup":
                self._in_markup = True
            case "tag":
                return _tag(found)
            case "broken":
                return _GONE
            case "cut":
                self._in_markup = True
                return _Piece("\n", gone=1)
            case "image":
                return self._image(found)
            case "link":
                return _link(found)
            case "definition":
                return self._definition(found)
            case "entity" if all(map(is_unseen, unescape(found[0]))):
                return _GONE
        return _Piece(found[0])

    def _image(self, found: re.Match[str]) -> _Piece:
        """Its text is only seen where the image is not."""
        alt, at, reference = found["alt"], found["at"], found["reference"]
        if at is None and not reference and f"[{alt.lower()}]:" not in self._whole:
            return _Piece(found[0])
        source = f"({_address(at)})" if at is not None else reference or ""
        text = f"![{alt if marks.ONE_WORD.fullmatch(alt) else ''}]{source}"
        return _Piece(text, gone=int(text != found[0]))

    def _definition(self, found: re.Match[str]) -> _Piece:
        """Only what refers to it is seen."""
        label = found["label"].lower()
        is_used = marks.ONE_WORD.fullmatch(label) or self._whole.count(f"[{label}]") > 1
        if not is_used or not _address(found["to"]):
            return _Piece("\n", gone=1)
        return _Piece(found[0][: found.end("to") - found.start()], gone=int(bool(found["named"])))


def _link(found: re.Match[str]) -> _Piece:
    address = _address(found["target"])
    if found["hint"] or address != found["target"]:
        return _Piece(f"]({address})", gone=1)
    return _Piece(found[0])


def _address(target: str) -> str:
    """Where a link leads. With spaces in it, it may be a letter to somebody; so may data."""
    return target if marks.ADDRESS.fullmatch(target.removeprefix("<").removesuffix(">")) else ""


def _tag(found: re.Match[str]) -> _Piece:
    """Its name and where it leads; nobody sees another attribute of it."""
    name, rest = found["name"].lower(), found["rest"]
    if len(name) > marks.LONGEST_WORD or name == "source":
        return _GONE
    left = marks.LEADS.sub(" ", rest)
    gone = int(not marks.SAYS_NOTHING.fullmatch(left))
    if found["closing"]:
        return _Piece(f"</{found['name']}>", gone, name, ends=True)
    if name == "picture" or marks.is_hidden(rest):
        return _Piece("", 1, name, hides=name not in _EMPTY)
    slash = "/" if rest.rstrip().endswith("/") else ""
    return _Piece(f"<{found['name']}{_leads(rest)}{slash}>", gone, name)


def _leads(attributes: str) -> str:
    found = ((name.lower(), value.strip("\"'")) for name, value in marks.LEADS.findall(attributes))
    return "".join(f' {name}="{address}"' for name, address in found if marks.ADDRESS.fullmatch(address))
