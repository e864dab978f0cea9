"""File permissions: what Treehand creates is for its own user; what it makes for others has ordinary permissions.

Rule: the state directory is closed to others, whatever the permissions of the files in it. One that another person
owns, or has put something into, is not used at all.
"""

import os
import pwd
import stat
from pathlib import Path

from bot.errors import CannotStart

ORDINARY_UMASK = 0o022
"""The umask for what others use, too: files in a person's own repository, or in a worktree."""
_PRIVATE_FOLDER = 0o700
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def refuse_foreign_folder(folder: Path) -> None:
    """Raises CannotStart if the folder, a link to it, or something in it belongs to another user than us and root.

    Its owner could open it again at any time, and a link in it would have us write to another file of ours.
    """
    found = [place for place in (folder, folder.resolve()) if os.path.lexists(place)]
    for place in found:
        if owner := _other_owner(place.lstat()):
            raise CannotStart(
                f"{place} belongs to {owner}, who could read your code there, and change it. Run Treehand as that "
                "user, or set another `state_dir`."
            )
    if found and folder.is_dir():
        with os.scandir(folder) as listing:
            for item in listing:
                if owner := _other_owner(item.stat(follow_symlinks=False)):
                    raise CannotStart(
                        f"{item.path} belongs to {owner}, so others could write to {folder}. Find out what it "
                        "is; then remove it, or set another `state_dir`."
                    )


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
    if is_open_to_others(folder):  # some file systems have no permissions, and accept every change of them
        return f"open to other users (mode {mode:04o}), and cannot be closed: its file system keeps no permissions"
    return f"was open to other users (mode {mode:04o}), and is closed to them now"


def _other_owner(status: os.stat_result) -> str:
    """The name of the user that it belongs to; empty if we or root are that user."""
    if status.st_uid in {0, os.geteuid()}:
        return ""
    try:
        return pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        return f"user {status.st_uid}"


def is_open_to_others(folder: Path) -> bool:
    return bool(folder.stat().st_mode & _FOR_OTHERS)


def share_file(file: Path) -> None:
    file.chmod(0o666 & ~ORDINARY_UMASK)


def share_folder(folder: Path) -> None:
    """Creates a folder below the state directory that sandboxes of other users may read."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777 & ~ORDINARY_UMASK)
