"""How we know our own comments again, and the notes that go with them: nobody else can say something in our name.

Linear keeps documents, not the text that was sent: what is hidden in a comment does not survive there. So the marker is
the address of a link below our words, the note lies in an attachment of its own, and the id of what we make follows
from what it is: a second one cannot be made.
"""

import re
import uuid
from collections.abc import Collection
from urllib.parse import quote, unquote

from bot.services.http.signature import Seal, packed, unpacked
from bot.services.linear.cache import Row

_LONGEST = 60_000
_MARK = re.compile(r"\[Treehand\]\(<?[^\s()<>]*#treehand:(?P<slug>[\w./%~+-]+):(?P<mac>[0-9a-f]{64})>?\)")
_ANY = "#treehand:"
_OPERATOR = "operator/"
_NOTE = "note/"


class Markers:
    def __init__(self, secret: bytes, home: str, *, older: Collection[bytes] = ()) -> None:
        """`home`: where the link below our words leads."""
        self._seal = Seal(secret, older=older)
        self._home = home

    def signed(self, text: str, *, issue: str, slug: str) -> str:
        mark = f"\n\n[Treehand]({self._home}{_ANY}{quote(slug, safe='/')}:{self._seal.of(issue, slug)})"
        text = text.replace(_ANY, "#treehand;")  # what we quote must not speak for us
        return (text if len(text) + len(mark) <= _LONGEST else f"{text[: _LONGEST - len(mark) - 20]}\n\n(cut)") + mark

    def in_the_name_of(self, person: str, text: str, *, issue: str) -> str:
        return self.signed(text, issue=issue, slug=f"{_OPERATOR}{person}")

    def find_slug(self, body: str, issue: str) -> str:
        """Empty: there is no marker of ours that was made for this issue."""
        last = next(reversed(list(_MARK.finditer(body))), None)
        if last is None:
            return ""
        slug = unquote(last["slug"])
        return slug if self._seal.is_on(last["mac"], issue, slug) else ""

    def find_operator(self, body: str, issue: str) -> str:
        slug = self.find_slug(body, issue)
        return slug.removeprefix(_OPERATOR) if slug.startswith(_OPERATOR) else ""

    def id_for(self, issue: str, slug: str) -> str:
        """Always the same one: Linear refuses to make it twice."""
        made = bytearray.fromhex(self._seal.of("id", issue, slug)[:32])
        return str(uuid.UUID(bytes=bytes(made), version=4))

    # Notes

    def note_place(self, issue: str, slug: str) -> str:
        """The address that tells one attachment from another."""
        return f"{self._home}#treehand-{issue}-{quote(slug, safe='')}"

    def note(self, note: str, *, issue: str, slug: str) -> Row:
        kept = packed(note)
        return {"treehand": f"{_NOTE}{slug}", "note": kept, "seal": self._seal.of(issue, f"{_NOTE}{slug}", kept)}

    def find_note(self, metadata: Row, issue: str) -> tuple[str, str]:
        """The slug it goes with, and the note; empty: it is not ours."""
        slug, kept, seal = (str(metadata.get(name) or "") for name in ("treehand", "note", "seal"))
        if not slug.startswith(_NOTE) or not self._seal.is_on(seal, issue, slug, kept):
            return "", ""
        return slug.removeprefix(_NOTE), unpacked(kept)


def looks_marked(body: str) -> bool:
    """Valid or not: nobody writes that by hand."""
    return _ANY in body


def without_marker(body: str) -> str:
    return _MARK.sub("", body).rstrip() if looks_marked(body) else body
