"""Reads the repository's own settings file (treehand.toml) as one commit has it.

Rule: read from the mirror, at a commit that people merged; never from a worktree or a branch of ours.
"""

from pathlib import Path

from bot.domain.repository_settings import FILE, RepositorySettings, parse_repository_settings
from bot.git.commit_files import REGULAR_FILES, find_blob, read_blob

_MAX_BYTES = 1 << 20


def read_repository_settings(mirror: Path, commit: str) -> RepositorySettings:
    """Raises NeedsHuman if the file has a mistake."""
    blob = find_blob(mirror, commit, FILE)
    if blob and blob.mode in REGULAR_FILES and blob.size <= _MAX_BYTES:
        return parse_repository_settings(read_blob(mirror, blob.sha).decode(errors="replace"))
    return RepositorySettings()
