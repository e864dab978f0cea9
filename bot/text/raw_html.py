"""Finds what is hidden in HTML that Markdown passes on: read as browsers do, and where parsers disagree, removed."""

import re
from collections.abc import Iterator
from html import unescape

from bot.text.html_tags import SHOWN_AS_TEXT, ends_in_quotes, may_hide_more, read_tag, strip_tag
from bot.text.invisible_characters import is_invisible
from bot.text.visible_pieces import Piece, last_piece

_MARK = re.compile(r"<(?:[A-Za-z!?]|/[^>])|&#?[0-9A-Za-z]{1,32};?")
_ENTITY = re.compile(r"&(?:#[0-9]{1,8};?|#[xX][0-9a-fA-F]{1,7};?|[A-Za-z][A-Za-z0-9]{1,31};)")
_EMPTY_COMMENTS = ("<!-->", "<!--->")
_ENDS = (("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">"))
_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")


def hidden_entity(text: str, start: int, at: int) -> Piece | None:
    """Returns what to do about a letter that is spelled out, if nobody sees it."""
    found = _ENTITY.match(text, at)
    if found and all(map(is_invisible, unescape(found[0]))):
        return Piece(start + at, start + found.end())
    return None


def read_html(text: str, start: int) -> Iterator[Piece]:
    """`start` is the position of the text in the whole. Stops at what has no end."""
    at = 0
    while found := _MARK.search(text, at):
        if found[0][0] == "&":
            piece, at = hidden_entity(text, start, found.start()), found.end()
        else:
            piece, at = _read_mark(text, start, found.start())
        if piece:
            yield piece
            if piece.is_last or piece.is_unfinished:
                return


def _read_mark(text: str, start: int, at: int) -> tuple[Piece | None, int]:
    """Returns a piece, and the position to continue at."""
    if text.startswith("<!--", at):
        return _read_comment(text, start, at)
    if name := _NAME.match(text, at):
        return _read_tag(text, start, at, name)
    return read_instruction(text, start, at) or (last_piece(start + at), len(text))


def _read_comment(text: str, start: int, at: int) -> tuple[Piece, int]:
    if empty := next((one for one in _EMPTY_COMMENTS if text.startswith(one, at)), ""):
        return Piece(start + at, start + at + len(empty)), at + len(empty)
    end = text.find("-->", at + 4)
    if end < 0 or "--!>" in text[at:end]:
        return last_piece(start + at), len(text)
    return Piece(start + at, start + end + 3), end + 3


def read_instruction(text: str, start: int, at: int) -> tuple[Piece, int] | None:
    """Reads `<?...?>`, `<!...>` and the like; None if it has no end. A browser ends each at its first `>`."""
    mark = next((end for begin, end in _ENDS if text.startswith(begin, at)), ">")
    end = text.find(mark, at + 2)
    if end < 0:
        return None
    end += len(mark)
    first = text.find(">", at, end)
    if "<" in text[first:end]:
        return last_piece(start + at), len(text)
    return Piece(start + at, start + end), end


def _read_tag(text: str, start: int, at: int, name: re.Match[str]) -> tuple[Piece | None, int]:
    if name[1].lower() in SHOWN_AS_TEXT:
        return None, name.end()
    tag = read_tag(text, at)
    if tag is None or tag.is_odd:
        rest = text[at:]
        is_last = may_hide_more(rest) or (tag is None and ends_in_quotes(rest))
        return Piece(start + at, start + len(text), is_last=is_last, is_unfinished=True), len(text)
    end = at + len(tag.source)
    left = strip_tag(tag)
    return Piece(start + at, start + end, left, int(left != tag.source), tag), end
