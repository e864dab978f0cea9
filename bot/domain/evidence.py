"""Evidence: pictures and logs that an agent leaves for people, in no commit. Pure.

Rule: the content decides a file's type, never the name that the agent gave it.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote

FOLDER = ".treehand/evidence"
"""In the worktree."""
MOST_FILES = 20
MOST_BYTES = 5_000_000
"""Bytes of one file."""
MOST_BYTES_OF_RUN = 100_000_000

TEXT = "text/plain; charset=utf-8"
_PICTURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 ._()@+,=-]*(?:/[A-Za-z0-9_][A-Za-z0-9 ._()@+,=-]*)*")
_LONGEST_NAME = 120
_LONGEST_KEPT = 250
_ODD = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    name: str
    """Seen from the folder; the agent's."""
    size: int
    media_type: str
    turn: str
    """Id of the turn within the run: `turn-2`."""


@dataclass(frozen=True, slots=True)
class EvidenceResult:
    """Evidence of one turn."""

    files: tuple[EvidenceFile, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files that were left out, each with the reason."""


def media_type_of(content: bytes) -> str:
    """Returns a media type that browsers only display; empty if the type is not accepted."""
    for kind, beginnings in _PICTURES.items():
        if content.startswith(beginnings):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    try:
        return "" if _ODD.search(content.decode()) else TEXT
    except UnicodeDecodeError:
        return ""


def is_plain_name(name: str) -> bool:
    """Returns True if the name is allowed and short enough to store, even percent-encoded."""
    is_short = len(name) <= _LONGEST_NAME and len(quote(name, safe="")) <= _LONGEST_KEPT
    return is_short and _NAME.fullmatch(name) is not None
