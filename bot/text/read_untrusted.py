"""Reads untrusted text: keeps what people can see and counts the hidden passages that it removes. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from bot.text import invisible_characters
from bot.text.hidden_markup import disable_markup, remove_hidden

LONGEST_TEXT = 65_536
"""Letters; GitHub takes no more in an issue or a comment."""
MOST_MARKS = 8_000
"""Line ends and letters with a meaning; a text of that length by a person has fewer."""
CUT = "\n\n(The rest of this text is left out: it is too long.)"

_ROUNDS = 3
_MARK = re.compile(r"[\n<&\[\]`\\|=]")


@dataclass(frozen=True, slots=True)
class VisibleText:
    text: str
    hidden: int = 0
    """Number of passages that were removed."""


@lru_cache(maxsize=4000)  # each tick reads the same issues and comments again
def read(text: str) -> VisibleText:
    """`text` is Markdown."""
    kept = _first_part(text)
    if kept == text:
        return _read(text)
    seen = _read(kept)
    return VisibleText(seen.text.rstrip() + CUT, seen.hidden)


def read_plain(text: str) -> VisibleText:
    """`text` is a title, code or output of a program: it has no markup."""
    kept = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - len(CUT)]
    seen, hidden = invisible_characters.strip_invisible_counted(kept)
    return VisibleText(seen if kept == text else seen + CUT, hidden)


def _first_part(text: str) -> str:
    """Returns as much as may be read in a twentieth of a second."""
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - len(CUT)]
    marks = [mark.start() for mark in islice(_MARK.finditer(text), MOST_MARKS + 1)]
    return text[: marks[-len(CUT)]] if len(marks) > MOST_MARKS else text


def _read(text: str) -> VisibleText:
    text, hidden = invisible_characters.strip_invisible_counted(text)
    for _ in range(_ROUNDS):
        seen, gone = remove_hidden(text)
        if seen == text:
            return VisibleText(text, hidden)
        text, hidden = seen, hidden + gone
    text, _ = remove_hidden(disable_markup(text))  # removing hidden parts creates new ones each time: an attack
    return VisibleText(text, hidden)
