"""Quotes untrusted text in Markdown: prose stays prose, everything else becomes code. Pure.

Rule: nothing in it notifies, closes, orders, loads or hides anything, or leaves the quotation. Code of an agent stays
code, between fences of ours.
"""

import re
import string

from bot.text.invisible_characters import on_one_line
from bot.text.prose import safe_line, span_content
from bot.text.quoted_blocks import fence, safe_blocks
from bot.text.raw_references import HYPHEN, break_references

_QUOTE_LENGTH = 3000
_LINE_LENGTH = 400
_LABEL_LENGTH = 80

_SCHEME = re.compile(r"(?:\b[A-Za-z]+)?:/{2,}")
_SIGNS = re.compile(r"(?P<after>[A-Za-z0-9_]?)(?<![@#])(?P<signs>[@#]+)(?=(?P<before>\w))")
_KEY = re.compile(r"(?<![A-Za-z0-9_])(?P<team>[A-Za-z0-9_]+)-(?=[0-9])")


def quote(words: str) -> str:
    """Returns the text as a block quotation."""
    cut = words.strip()
    cut = cut if len(cut) <= _QUOTE_LENGTH else f"{cut[:_QUOTE_LENGTH]} …"
    return "\n".join(f"> {line}".rstrip() for line in neutralize(cut).splitlines())


def neutralize(text: str) -> str:
    """Neutralizes several lines of Markdown."""
    return break_references("\n".join(safe_blocks(text)))


def neutralize_line(text: str) -> str:
    """Neutralizes one line of Markdown."""
    flat = on_one_line(text)
    return break_references(safe_line(flat if len(flat) <= _LINE_LENGTH else f"{flat[:_LINE_LENGTH]} …"))


def code_block(text: str) -> str:
    return break_references(fence(text))


def code_span(text: str) -> str:
    """Returns a code span that is safe in a table as well."""
    inside = break_references(on_one_line(text))[:_LINE_LENGTH]
    return f"`{span_content(inside).replace('|', '¦')}`"


def plain_line(text: str) -> str:
    """Neutralizes one line of plain text, such as a title: it names no issue and no person."""
    flat = _SIGNS.sub(_without_signs, _SCHEME.sub("", on_one_line(text)))
    return break_references(_KEY.sub(lambda found: found["team"] + _hyphen_after(found["team"]), flat))


def _without_signs(found: re.Match[str]) -> str:
    if "@" not in found["signs"] and found["before"] not in string.digits:
        return found[0]
    if found["after"] and found["signs"] == "@":
        return found[0]  # an address
    return f"{found['after']} " if found["after"] else ""


def _hyphen_after(team: str) -> str:
    return HYPHEN if any(map(str.isalpha, team)) else "-"


def plain_label(text: str) -> str:
    """Returns a few words of plain text: a name in a commit's message, the start of its subject.

    Signs are taken out first: what they divide, such as `#<12`, may mean something without them.
    """
    return plain_line(re.sub("[`<>]", "", on_one_line(text)))[:_LABEL_LENGTH]


def short_label(text: str) -> str:
    """Returns a few words to use within a sentence of ours, such as a name."""
    return neutralize_line(plain_label(text))
