"""The hidden signature of our comments, and the notes in them: nobody else can say something in our name.

Several secrets may be ours: what one of them signed stays ours when another takes its place.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import quote, unquote

from bot.services.http.signature import Seal, packed, unpacked

_LONGEST = 65_000
"""Characters; GitHub refuses more than 65,536."""
_MARKER = re.compile(
    r"\s*(?:<!-- treehand-note (?P<note>[\w-]+={0,2}) -->\s*)?"
    r"<!-- treehand:(?P<slug>[\w./%~+-]+) (?P<mac>[0-9a-f]{64}) -->"
)
_ANY = "<!-- treehand"
_OPERATOR = "operator/"
_REMEMBERED = 5000
"""Marked comments that were read already: the same ones are seen at every look."""


class Markers:
    def __init__(self, secret: bytes, repository: str, *, older: Collection[bytes] = ()) -> None:
        self._seal = Seal(secret, older=older)
        self._repository = repository.lower()
        self._read = lru_cache(_REMEMBERED)(self._read_anew)

    def signed(self, text: str, *, number: int, slug: str, note: str = "") -> str:
        kept = packed(note) if note else ""
        hidden = f"<!-- treehand-note {kept} -->\n" if note else ""
        marker = (
            f"\n\n{hidden}<!-- treehand:{quote(slug, safe='/')} {self._seal.of(*self._words(number, slug, kept))} -->"
        )
        text = text.replace(_ANY, "<!-- Treehand")  # what we quote must not speak for us
        return _cut(text, _LONGEST - len(marker)) + marker

    def in_the_name_of(self, person: str, text: str, *, number: int) -> str:
        return self.signed(text, number=number, slug=f"{_OPERATOR}{person}")

    def find_slug(self, body: str, number: int) -> str:
        """Empty: there is no marker of ours that was made for this place."""
        return self._found(body, number)[0]

    def find_note(self, body: str, number: int) -> str:
        """Empty: there is none, or it is not ours."""
        kept = self._found(body, number)[1]
        return unpacked(kept) if kept else ""

    def find_operator(self, body: str, number: int) -> str:
        slug = self.find_slug(body, number)
        return slug.removeprefix(_OPERATOR) if slug.startswith(_OPERATOR) else ""

    def _found(self, body: str, number: int) -> tuple[str, str]:
        """The slug and the note of the last marker."""
        return self._read(body, number) if looks_marked(body) else ("", "")

    def _read_anew(self, body: str, number: int) -> tuple[str, str]:
        last = next(reversed(list(_MARKER.finditer(body))), None)
        if last is None:
            return "", ""
        slug, kept = unquote(last["slug"]), last["note"] or ""
        return (slug, kept) if self._seal.is_on(last["mac"], *self._words(number, slug, kept)) else ("", "")

    def _words(self, number: int, slug: str, kept: str) -> tuple[str, ...]:
        return (self._repository, str(number), slug, *([kept] if kept else []))


def looks_marked(body: str) -> bool:
    """Valid or not: nobody writes that by hand."""
    return _ANY in body


def without_marker(body: str) -> str:
    return _MARKER.sub("", body)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 20]}\n\n(cut)"
