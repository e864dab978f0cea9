"""Piece: a passage of Markdown that is not shown as it is written, and the text in its place."""

from typing import NamedTuple

from bot.text.html_tags import Tag
from bot.text.markdown_blocks import LeafKind


class Piece(NamedTuple):
    """`text` stands for what is between `start` and `end`."""

    start: int
    end: int
    text: str = ""
    gone: int = 1
    """Number of passages removed with it."""
    tag: Tag | None = None
    leaf: LeafKind | None = None
    """A leaf begins here."""
    is_last: bool = False
    """Everything after it is invisible."""
    is_unfinished: bool = False
    """A tag that ends with the next one."""


def last_piece(start: int) -> Piece:
    return Piece(start, start, is_last=True)
