"""Reads what is printed as a terminal does, and names what is more than letters on lines of ours."""

import re
import unicodedata

from bot.cli.output import hanging
from bot.text.invisible_characters import escape_invisible, on_one_line, strip_invisible

_ACTS = frozenset({"Cc", "Cs", "Co"})
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
"""Colours, which we print ourselves."""
_HIDES = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u061c\ufff9-\ufffb\u3164\u115f\u1160]")


def live_on_terminal(printed: str, *, colours: bool = False) -> list[str]:
    """Returns every letter of the output that a terminal obeys, hides, or turns the others around by."""
    text = _STYLE.sub("", printed) if colours else printed
    acting = {letter for letter in set(text) - {"\n", "\t"} if unicodedata.category(letter) in _ACTS}
    return [ascii(letter) for letter in sorted(acting | set(_HIDES.findall(text)))]


def breaches_on_terminal(words: str) -> list[str]:
    """Returns what acts, and lines that a reader could take for lines of ours."""
    forms = {
        "printed": strip_invisible(words),
        "hanging": hanging(words, 4),
        "in a row": on_one_line(words),
        "escaped": escape_invisible(words),
    }
    found = [f"{what} {form}" for form, told in forms.items() for what in live_on_terminal(told)]
    lines = forms["hanging"].split("\n")[1:]
    found += ["a line at the margin" for line in lines if line[:4].strip()]
    return [*found, *(["a second row"] if "\n" in forms["in a row"] else [])]
