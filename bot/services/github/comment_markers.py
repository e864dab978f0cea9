"""Comment markers: the hidden signature in our comments, and the run notes beside it.

Several secrets may be ours: a comment signed with an older one stays ours after a rotation.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from urllib.parse import quote, unquote

from bot.services.http.marker_signature import Signature, pack, unpack

_MAX_CHARACTERS = 65_000
"""GitHub refuses more than 65,536."""
_MARKER = re.compile(
    r"(?:<!-- treehand-note (?P<note>[\w-]+={0,2}) -->\s*)?"
    r"<!-- treehand:(?P<slug>[\w./%~+-]+) (?P<mac>[0-9a-f]{64}) -->"
)
_MARKER_START = "<!-- treehand"
_OPERATOR = "operator/"
_CACHED_COMMENTS = 5000
"""The same marked comments are read at every poll."""


class Markers:
    def __init__(self, secret: bytes, names: Callable[[], Sequence[str]], *, older: Collection[bytes] = ()) -> None:
        """`names`: every name of the repository in lower case. The first one is signed; all are accepted."""
        self._signature = Signature(secret, older=older)
        self._names = names
        self._parse_cached = lru_cache(_CACHED_COMMENTS)(self._parse)

    def sign(self, text: str, *, number: int, slug: str, note: str = "") -> str:
        packed = pack(note) if note else ""
        hidden = f"<!-- treehand-note {packed} -->\n" if note else ""
        mac = self._signature.sign(*_signed_words(self._names()[0], number, slug, packed))
        marker = f"\n\n{hidden}<!-- treehand:{quote(slug, safe='/')} {mac} -->"
        text = text.replace(_MARKER_START, "<!-- Treehand")  # a quoted marker must not count as ours
        return _cut(text, _MAX_CHARACTERS - len(marker)) + marker

    def sign_for_operator(self, person: str, text: str, *, number: int) -> str:
        return self.sign(text, number=number, slug=f"{_OPERATOR}{person}")

    def find_slug(self, body: str, number: int) -> str:
        """Empty if no marker of ours was made for this place."""
        return self._find_last(body, number)[0]

    def find_note(self, body: str, number: int) -> str:
        """Empty if there is none, or if it is not ours."""
        packed = self._find_last(body, number)[1]
        return unpack(packed) if packed else ""

    def find_operator(self, body: str, number: int) -> str:
        slug = self.find_slug(body, number)
        return slug.removeprefix(_OPERATOR) if slug.startswith(_OPERATOR) else ""

    def _find_last(self, body: str, number: int) -> tuple[str, str]:
        """Slug and packed note of the last marker; empty without a valid one."""
        return self._parse_cached(body, number, tuple(self._names())) if has_marker(body) else ("", "")

    def _parse(self, body: str, number: int, names: Sequence[str]) -> tuple[str, str]:
        last = next(reversed(list(_MARKER.finditer(body))), None)
        if last is None:
            return "", ""
        slug, packed = unquote(last["slug"]), last["note"] or ""
        signed = (_signed_words(name, number, slug, packed) for name in names)
        return (slug, packed) if any(self._signature.verify(last["mac"], *words) for words in signed) else ("", "")


def _signed_words(repository: str, number: int, slug: str, packed: str) -> tuple[str, ...]:
    return (repository, str(number), slug, *([packed] if packed else []))


def has_marker(body: str) -> bool:
    """True for an invalid marker as well: people do not write one by hand."""
    return _MARKER_START in body


def without_marker(body: str) -> str:
    parts, at = [], 0
    for found in _MARKER.finditer(body):
        parts.append(body[at : found.start()].rstrip())  # not by the pattern, which would try each of many spaces
        at = found.end()
    return "".join([*parts, body[at:]])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 20]}\n\n(cut)"
