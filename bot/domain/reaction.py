"""Emoji that the bot adds to a comment."""

from enum import StrEnum


class Reaction(StrEnum):
    """Named as GitHub and Linear name them."""

    SEEN = "eyes"
    DONE = "rocket"
