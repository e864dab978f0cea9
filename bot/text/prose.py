"""Writes one line of untrusted text as plain words and code spans. Pure.

Rule: outside of a code span stands only what the grammar of prose allows; nothing is recognised as dangerous. Services
read mentions and references in the text that Markdown has produced, so escapes do not stop them; code spans do.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

_LETTER = r"[0-9A-Za-z\u0080-\U0010ffff]"
_JOINT = r"(?:['/,()]|-(?![0-9])|(?<=[0-9])[.:](?=[0-9])|(?<=\b[A-Za-z])\.(?=[A-Za-z]\b))"
_OPENING = r"[(\"'*_]{0,4}"
_CLOSING = r"[.,;:?!)\"'*_%]{0,6}"
_WORD = re.compile(rf"(?!.*(?:__|[Ww]{{3}})){_OPENING}{_LETTER}+(?:{_JOINT}{_LETTER}+)*{_CLOSING}")
_NUMBER = re.compile(rf"{_OPENING}[0-9]+(?:[.,:/-][0-9]+)*{_CLOSING}")
_STOPS = re.compile(r"[.,;?!()\"']{1,4}")
_OPENS = re.compile(rf"(?<!\S){_OPENING}\Z")
_CLOSES = re.compile(_CLOSING)
_OPERATORS = frozenset(["-", "--", "+", "=", "==", "!=", ">", ">=", "->", "=>", "&", "&&", "*", "/", "%", ":"])
_COMMIT_ID = re.compile("[0-9A-Fa-f]{7}")
_AROUND = re.compile(r"(?P<before>[(\"'*]{0,4})(?P<inside>.*?)(?P<after>[.,;:?!)\"'*]{0,6})")


def safe_line(text: str) -> str:
    """Returns a line that reads the same, without any effect. Doing it twice changes nothing."""
    out = ""
    pieces = [*divide_by_code(text), ("", False)]
    for (piece, is_code), (_, code_follows) in pairwise(pieces):
        if is_code:
            out += _span(piece, before=out)
            continue
        opening = _OPENS.search(piece) if code_follows else None
        for token in re.findall(r"\s+|\S+", piece[: opening.start()] if opening else piece):
            out += " " if token.isspace() else _safe_token(token, before=out)
        out += opening[0] if opening else ""
    return out.strip()


def span_content(text: str) -> str:
    """Returns what may stand between single backticks."""
    return " ".join(text.split()).replace("`", "'") or " "


def divide_by_code(text: str) -> Iterator[tuple[str, bool]]:
    """Divides a line into text and the insides of code spans, in one pass."""
    ticks = [(found.start(), found.end()) for found in re.finditer("`+", text)]
    later: dict[int, list[int]] = {}
    for number in reversed(range(len(ticks))):
        start, end = ticks[number]
        later.setdefault(end - start, []).append(number)
    at = 0
    for number, (start, end) in enumerate(ticks):
        same = later[end - start]
        while same and same[-1] <= number:
            same.pop()
        if start < at or not same:
            continue
        yield text[at:start], False
        yield text[end : ticks[same[-1]][0]], True
        at = ticks[same[-1]][1]
    yield text[at:], False


def _safe_token(token: str, *, before: str) -> str:
    follows_code = before.endswith("`") and _CLOSES.fullmatch(token)
    if follows_code or _is_prose(token) or (before.strip() and token in _OPERATORS):
        return token
    around = _AROUND.fullmatch(token)
    if around is None or not around["inside"]:
        return _span(token, before=before)
    opening, inside, closing = around.groups()
    own = closing.rfind(")") + 1 if "(" in inside else 0
    return opening + _span(inside + closing[:own], before=before + opening) + closing[own:]


def _is_prose(token: str) -> bool:
    """Judges the compatibility form as well: fullwidth letters may be read as plain ones."""
    return all(
        (_WORD.fullmatch(form) or _NUMBER.fullmatch(form) or _STOPS.fullmatch(form))
        and form.count(":") <= 1  # two are an emoji
        and not _COMMIT_ID.search(form)
        for form in {token, unicodedata.normalize("NFKC", token)}
    )


def _span(text: str, *, before: str) -> str:
    """Keeps its backticks away from those of a neighbour."""
    return f"{' ' if before.endswith('`') else ''}`{span_content(text)}`"
