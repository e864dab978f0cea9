"""The hidden signature of our comments, and the notes in them: nobody else can say something in our name.

Several secrets may be ours: what one of them signed stays ours when another takes its place.
"""

import base64
import hmac
import re
import zlib
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import quote, unquote

_LONGEST = 65_000
"""Characters; GitHub refuses more than 65,536."""
_LONGEST_NOTE = 1_000_000
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
        self._secret = secret
        self._older = tuple(older)
        self._repository = repository.lower()
        self._read = lru_cache(_REMEMBERED)(self._read_anew)

    def signed(self, text: str, *, number: int, slug: str, note: str = "") -> str:
        packed = _packed(note) if note else ""
        hidden = f"<!-- treehand-note {packed} -->\n" if note else ""
        marker = (
            f"\n\n{hidden}<!-- treehand:{quote(slug, safe='/')} {self._mac(self._secret, number, slug, packed)} -->"
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
        packed = self._found(body, number)[1]
        return _unpacked(packed) if packed else ""

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
        slug, packed = unquote(last["slug"]), last["note"] or ""
        ours = (self._mac(secret, number, slug, packed) for secret in (self._secret, *self._older))
        return (slug, packed) if any(hmac.compare_digest(last["mac"], mac) for mac in ours) else ("", "")

    def _mac(self, secret: bytes, number: int, slug: str, packed: str) -> str:
        said = "\0".join((self._repository, str(number), slug, *([packed] if packed else [])))
        return hmac.digest(secret, said.encode(errors="surrogatepass"), "sha256").hex()


def looks_marked(body: str) -> bool:
    """Valid or not: nobody writes that by hand."""
    return _ANY in body


def without_marker(body: str) -> str:
    return _MARKER.sub("", body)


def _packed(note: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(note.encode(errors="surrogatepass"), 9)).decode()


def _unpacked(packed: str) -> str:
    """Empty when it is no note at all; only what we signed gets here."""
    try:
        unpacking = zlib.decompressobj()
        return unpacking.decompress(base64.urlsafe_b64decode(packed), _LONGEST_NOTE).decode(errors="surrogatepass")
    except (ValueError, zlib.error):
        return ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 20]}\n\n(cut)"
