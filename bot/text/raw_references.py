"""Breaks what services read in raw text, code included: closing words with an issue, and requests to skip checks. Pure.

Linear reads the description of a pull request as it was typed; so does a squash merge that makes it a commit's message.
"""

import re

HYPHEN = "\u2011"
"""Looks like a hyphen; ENG-7 written with it is no key of an issue."""

_WORDS = (
    r"clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|complet(?:e[sd]?|ing)|implement(?:s|ed|ing)?"
    r"|linear issue|refs?|references?|part of|related? to|relates to|contributes to|towards?"
)
_ISSUE = r"(?:[\w./-]{0,200}\#[0-9]|[A-Za-z][\w]{0,40}-[0-9]|https?://)"
_CLOSING = re.compile(rf"\b(?:{_WORDS})[\s:;,>*_(\[`'\"-]{{1,20}}(?={_ISSUE})", re.IGNORECASE)
_SKIPPING = re.compile(r"\[([^\[\]\n]{0,40}\b(?:skip|ci)\b[^\[\]\n]{0,40})\]", re.IGNORECASE)
_NO_CI = re.compile(r"(?<!\*)\*{3,}(?=NO_CI)", re.IGNORECASE)
_TRAILER = re.compile(r"\bskip-checks(?=\s*:)", re.IGNORECASE)


def break_references(text: str) -> str:
    """Returns text that reads the same; no issue is closed by it, and no check is skipped."""
    checked = _NO_CI.sub("*", _SKIPPING.sub(r"(\1)", _without_closing(text)))
    return _TRAILER.sub("skip checks", checked).replace("<!--", "<! --")


def _without_closing(text: str) -> str:
    """Breaks every issue from a closing word to the end of the line: several may follow it."""
    out, at = "", 0
    for found in _CLOSING.finditer(text):
        start = max(found.end(), at)
        end = start + len(text[start:].partition("\n")[0])
        out += text[at:start] + _broken(text[start:end])
        at = end
    return out + text[at:]


def _broken(line: str) -> str:
    plain = re.sub("#(?=[0-9])", "\uff03", line)
    plain = re.sub("(?<=[A-Za-z0-9_])-(?=[0-9])", HYPHEN, plain)
    return plain.replace("://", ":\u2215\u2215")
