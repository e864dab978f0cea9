"""Comment markers: the signed link below our comments, the ids we choose for them, and packed run notes.

Linear stores documents, not the text that was sent: hidden text in a comment is lost. So the marker is the URL of a
link, the note lies in an attachment, and the id of a comment follows from its issue and slug: it can be made once only.
"""

import re
import uuid
from collections.abc import Collection
from urllib.parse import quote, unquote

from bot.services.http.marker_signature import Signature, pack, unpack
from bot.services.linear.cache import Row

_MAX_CHARACTERS = 60_000
_MARK = re.compile(r"\[Treehand\]\(<?[^\s()<>]*#treehand:(?P<slug>[\w./%~+-]+):(?P<mac>[0-9a-f]{64})>?\)")
_MARKER_START = "#treehand:"
_OPERATOR = "operator/"
_NOTE = "note/"


class Markers:
    def __init__(self, secret: bytes, home: str, *, older: Collection[bytes] = ()) -> None:
        """`home`: target of the link below our text."""
        self._signature = Signature(secret, older=older)
        self._home = home

    def sign(self, text: str, *, issue: str, slug: str) -> str:
        mark = f"\n\n[Treehand]({self._home}{_MARKER_START}{quote(slug, safe='/')}:{self._signature.sign(issue, slug)})"
        text = text.replace(_MARKER_START, "#treehand;")  # a quoted marker must not count as ours
        return (
            text if len(text) + len(mark) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - len(mark) - 20]}\n\n(cut)"
        ) + mark

    def sign_for_operator(self, person: str, text: str, *, issue: str) -> str:
        return self.sign(text, issue=issue, slug=f"{_OPERATOR}{person}")

    def find_slug(self, body: str, issue: str) -> str:
        """Empty if no marker of ours was made for this issue."""
        last = next(reversed(list(_MARK.finditer(body))), None)
        if last is None:
            return ""
        slug = unquote(last["slug"])
        return slug if self._signature.verify(last["mac"], issue, slug) else ""

    def find_operator(self, body: str, issue: str) -> str:
        slug = self.find_slug(body, issue)
        return slug.removeprefix(_OPERATOR) if slug.startswith(_OPERATOR) else ""

    def id_for(self, issue: str, slug: str) -> str:
        """The same id each time: Linear refuses to create it twice."""
        made = bytearray.fromhex(self._signature.sign("id", issue, slug)[:32])
        return str(uuid.UUID(bytes=bytes(made), version=4))

    # Notes

    def note_url(self, issue: str, slug: str) -> str:
        """The URL that identifies the attachment."""
        return f"{self._home}#treehand-{issue}-{quote(slug, safe='')}"

    def pack_note(self, note: str, *, issue: str, slug: str) -> Row:
        packed = pack(note)
        seal = self._signature.sign(issue, f"{_NOTE}{slug}", packed)
        return {"treehand": f"{_NOTE}{slug}", "note": packed, "seal": seal}

    def unpack_note(self, metadata: Row, issue: str) -> tuple[str, str]:
        """The comment's slug, and the note; both empty if it is not ours."""
        slug, packed, seal = (str(metadata.get(name) or "") for name in ("treehand", "note", "seal"))
        if not slug.startswith(_NOTE) or not self._signature.verify(seal, issue, slug, packed):
            return "", ""
        return slug.removeprefix(_NOTE), unpack(packed)


def has_marker(body: str) -> bool:
    """True for an invalid marker as well: people do not write one by hand."""
    return _MARKER_START in body


def without_marker(body: str) -> str:
    return _MARK.sub("", body).rstrip() if has_marker(body) else body
