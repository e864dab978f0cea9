"""What a repository tells agents (CLAUDE.md, AGENTS.md, and in its file for us), as its base branch has it.

Rule: read out of the mirror, from a commit that people merged. What the worktree or the branch holds under these names
is an agent's work like any other, and nobody's instruction.
"""

import posixpath
from collections.abc import Iterator
from pathlib import Path

from bot.domain.read_untrusted import read
from bot.domain.repository_settings import FILE
from bot.errors import NeedsHuman
from bot.git.command import git_bytes
from bot.git.repository_file import told_at

NAMES = ("CLAUDE.md", "AGENTS.md")

_MOST_BYTES = 32 * 1024
_LONGEST_FILE = 4 * 1024 * 1024
_LINKS = 5
_LINK, _FILES = b"120000", {b"100644", b"100755"}
_CUT = "\n[cut: the file is longer]"


def instructions_at(mirror: Path, commit: str) -> str:
    """Sanitised and labelled with the file's name; empty: there are none."""
    found: dict[str, str] = {}
    for name in NAMES:
        text = _text_of(mirror, commit, name)
        if text and text not in found.values():
            found[name] = text
    if text := _told(mirror, commit):
        found[FILE] = text
    return "\n\n".join(f"[{name}]\n{text}" for name, text in found.items())


def _told(mirror: Path, commit: str) -> str:
    """A mistake in that file is told where the worktree is made ready."""
    try:
        return _sanitised(told_at(mirror, commit).instructions.encode(errors="replace"))
    except NeedsHuman:
        return ""


def _text_of(mirror: Path, commit: str, name: str) -> str:
    return _sanitised(_content_of(mirror, commit, name))


def _sanitised(content: bytes) -> str:
    text = read(content[:_MOST_BYTES].decode(errors="replace")).text.strip()
    return text if len(content) <= _MOST_BYTES else text + _CUT


def _content_of(mirror: Path, commit: str, name: str) -> bytes:
    """Of the file, or of the one that it is a link to, in the same tree. Empty: it is neither."""
    for _ in range(_LINKS):
        mode, sha, size = _find_entry(mirror, commit, name)
        if mode in _FILES and size <= _LONGEST_FILE:
            return git_bytes(mirror, "cat-file", "blob", sha)
        if mode != _LINK:
            return b""
        target = git_bytes(mirror, "cat-file", "blob", sha).decode(errors="replace")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        if name.startswith(("/", "..")) or "\0" in name:
            return b""
    return b""


def _find_entry(mirror: Path, commit: str, name: str) -> tuple[bytes, str, int]:
    for mode, kind, sha, size, path in _entries(mirror, commit, name):
        if kind == b"blob" and path == name.encode(errors="replace"):
            return mode, sha.decode(), int(size)
    return b"", "", 0


def _entries(mirror: Path, commit: str, name: str) -> Iterator[tuple[bytes, bytes, bytes, bytes, bytes]]:
    listing = git_bytes(mirror, "ls-tree", "-z", "--long", "--full-tree", "--end-of-options", commit, name)
    for line in listing.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, kind, sha, size = facts.split()
        yield mode, kind, sha, size, path
