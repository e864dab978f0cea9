"""File permissions: what Treehand creates is for its own user; what it makes for others has ordinary permissions.

Rule: the state directory is closed to others, whatever the permissions of the files in it.
"""

import stat
from pathlib import Path

ORDINARY_UMASK = 0o022
"""The umask for what others use, too: files in a person's own repository, or in a worktree."""
_PRIVATE_FOLDER = 0o700
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def ensure_private_folder(folder: Path) -> str:
    """Creates the folder, and closes it to others. Says what was changed, or could not be; else returns nothing.

    Raises OSError if there is no folder and none can be made.
    """
    folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    if not is_open_to_others(folder):
        return ""
    mode = stat.S_IMODE(folder.stat().st_mode)
    try:
        folder.chmod(_PRIVATE_FOLDER)
    except OSError as problem:
        return f"open to other users (mode {mode:04o}), and cannot be closed: {problem.strerror}"
    return f"was open to other users (mode {mode:04o}), and is closed to them now"


def is_open_to_others(folder: Path) -> bool:
    return bool(folder.stat().st_mode & _FOR_OTHERS)


def share_file(file: Path) -> None:
    file.chmod(0o666 & ~ORDINARY_UMASK)


def share_folder(folder: Path) -> None:
    """Creates a folder below the state directory that sandboxes of other users may read."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777 & ~ORDINARY_UMASK)
