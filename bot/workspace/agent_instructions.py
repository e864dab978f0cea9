"""Reads a repository's instructions for agents (CLAUDE.md, AGENTS.md, its Treehand settings) from its base branch.

Rule: read from the mirror, at a commit that people merged. Files of these names in the worktree or on our branch are an
agent's work and no instructions.
"""

import posixpath
from pathlib import Path

from bot.domain.repository_settings import FILE
from bot.errors import NeedsHuman
from bot.git.commit_files import REGULAR_FILES, find_blob, read_blob
from bot.git.read_repository_settings import read_repository_settings
from bot.text.read_untrusted import read

INSTRUCTION_FILES = ("CLAUDE.md", "AGENTS.md")

_MAX_BYTES = 32 * 1024
_MAX_FILE_BYTES = 4 * 1024 * 1024
_MAX_LINKS = 5
_CUT = "\n[cut: the file is longer]"


def read_agent_instructions(mirror: Path, commit: str) -> str:
    """Returns the sanitized texts, each headed by its file name; empty if there are none."""
    found: dict[str, str] = {}
    for name in INSTRUCTION_FILES:
        text = _read_instructions(mirror, commit, name)
        if text and text not in found.values():
            found[name] = text
    if text := _read_settings_instructions(mirror, commit):
        found[FILE] = text
    return "\n\n".join(f"[{name}]\n{text}" for name, text in found.items())


def _read_settings_instructions(mirror: Path, commit: str) -> str:
    """Ignores a mistake in that file; setup reports it."""
    try:
        return _sanitize(read_repository_settings(mirror, commit).instructions.encode(errors="replace"))
    except NeedsHuman:
        return ""


def _read_instructions(mirror: Path, commit: str, name: str) -> str:
    return _sanitize(_read_following_links(mirror, commit, name))


def _sanitize(content: bytes) -> str:
    text = read(content[:_MAX_BYTES].decode(errors="replace")).text.strip()
    return text if len(content) <= _MAX_BYTES else text + _CUT


def _read_following_links(mirror: Path, commit: str, name: str) -> bytes:
    """Follows symbolic links inside the same tree. Returns nothing if the path ends at no regular file."""
    for _ in range(_MAX_LINKS):
        blob = find_blob(mirror, commit, name)
        if blob and blob.mode in REGULAR_FILES and blob.size <= _MAX_FILE_BYTES:
            return read_blob(mirror, blob.sha)
        if not blob or not blob.is_link:
            return b""
        target = read_blob(mirror, blob.sha).decode(errors="replace")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        if name.startswith(("/", "..")) or "\0" in name:
            return b""
    return b""
