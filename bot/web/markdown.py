"""Markdown: parses untrusted text of agents and people with markdown-it-py, and renders it as HTML.

Rule: every letter is escaped, no tag has an attribute, and no word gets lost. Links, images and HTML stay text.
"""

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token
from markupsafe import Markup, escape

from bot.text.invisible_characters import strip_invisible

LONGEST = 60_000
"""Characters that are shown; the rest is only counted."""
LONGEST_MARKED = 20_000
"""A longer text is shown without its markup: a hostile one would take seconds."""
_QUOTE_DEPTH = 3
_LIST_DEPTH = 8
"""Levels of nesting, at two levels per list. Deeper markup stays text; the library would drop it."""
_MOST_CELLS = 3000
"""In the tables of one text; a row of one sign has as many as the head, so that a few signs could make thousands."""
_CELLS = "cells"
"""Key in the state of a text."""
_DELIMITERS = re.compile(r"[|:\- \t]+")
"""The line below the head of a table."""
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{0,20}")
_TEXT_ONLY = ["link", "image", "autolink", "reference", "entity"]
"""Rules that would hide a word or make a tag with an attribute."""


def to_html(text: str) -> Markup:
    shown = strip_invisible(text[:LONGEST])
    if len(shown) <= LONGEST_MARKED:
        return Markup(_parser().render(shown))  # noqa: S704 - the renderer below escapes every letter
    more = Markup("<p>… {} more characters</p>").format(f"{len(text) - LONGEST:,}") if len(text) > LONGEST else ""
    return Markup("<p>{}</p>").format(shown) + more


def tokens_of(text: str) -> Sequence[Token]:
    """Parses a text that is not longer than `LONGEST_MARKED`. The caller escapes every letter."""
    return _parser().parse(strip_invisible(text))


def inline_tokens_of(text: str) -> Sequence[Token]:
    """Parses one line, without lists, headings and the like."""
    return [child for token in _parser().parseInline(strip_invisible(text)) for child in token.children or ()]


def code_of(fence: Token) -> str:
    """Returns the code, below the word behind the fence unless that is the name of a language."""
    words = fence.info.strip()
    return fence.content if _LANGUAGE.fullmatch(words) else f"{words}\n{fence.content}"


class _Renderer(RendererHTML):
    """Each method whose name is a token's type renders that token."""

    @staticmethod
    def renderAttrs(token: Token) -> str:  # noqa: N802, ARG004 - the library's name
        return ""

    def heading_open(self, *_: object) -> str:
        return "<p><strong>"

    def heading_close(self, *_: object) -> str:
        return "</strong></p>\n"

    def hr(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return f"<p>{escape(tokens[idx].markup)}</p>\n"

    def hardbreak(self, *_: object) -> str:
        return "\n"

    def fence(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return f"<pre><code>{escape(code_of(tokens[idx]))}</code></pre>\n"


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table").disable(_TEXT_ONLY)
    inside = ["paragraph", "reference"]
    made.block.ruler.at("table", _table, {"alt": inside})
    made.block.ruler.at("blockquote", _quote, {"alt": [*inside, "blockquote", "list"]})
    made.block.ruler.at("list", _list, {"alt": [*inside, "blockquote"]})
    return made


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's call
    return state.level < _QUOTE_DEPTH and blockquote(state, start, end, silent)


def _list(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's call
    return state.level < _LIST_DEPTH and list_block(state, start, end, silent)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - the library's call
    """Adds the columns that a row has and the head lacks: the library drops them."""
    first = len(state.tokens)
    if not _has_room(state, start, end) or not table(state, start, end, silent):
        return False
    width = sum(token.type == "th_open" for token in state.tokens[first:])
    added: list[Token] = []
    row: Sequence[str] = ()
    for token in state.tokens[first:]:
        if token.type == "tr_open" and token.map:
            row = _columns(state, token.map[0])
        elif token.type == "tr_close":
            added += [part for text in row[width:] if text.strip() for part in _column(text, token.level + 1)]
        added.append(token)
    state.tokens[first:] = added
    state.env[_CELLS] = state.env.get(_CELLS, 0) + width * sum(token.type == "tr_open" for token in added)
    return True


def _has_room(state: StateBlock, start: int, end: int) -> bool:
    """Returns False if a table that begins here could have too many cells: then it and all later ones stay text."""
    if start + 1 >= end or "|" not in _line(state, start) or not _DELIMITERS.fullmatch(_line(state, start + 1)):
        return True  # this is no table
    used = int(state.env.get(_CELLS, 0))
    if used <= _MOST_CELLS:
        rows = next((row for row in range(start, end) if state.isEmpty(row)), end) - start
        used += len(escapedSplit(_line(state, start).strip("|"))) * rows
    if used > _MOST_CELLS:
        state.env[_CELLS] = used
    return used <= _MOST_CELLS


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()


def _columns(state: StateBlock, line: int) -> list[str]:
    return escapedSplit(_line(state, line).removeprefix("|"))


def _column(text: str, level: int) -> Sequence[Token]:
    return (
        Token("td_open", "td", 1, level=level, block=True),
        Token("inline", "", 0, level=level + 1, block=True, content=text.strip(), children=[]),
        Token("td_close", "td", -1, level=level, block=True),
    )
