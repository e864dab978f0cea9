"""Sets repositories aside that an agent made inside its worktree, before a person works there.

A person's git obeys the settings of a repository that it finds in the folder it is started in.
"""

import contextlib
import os
import uuid
from pathlib import Path

from bot.system.trash import make_accessible
from bot.system.tree_walk import walk_folders
from bot.workspace.capture import is_git_name

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def set_nested_git_aside(worktree: Path, aside: Path) -> None:
    """Moves every `.git` but the worktree's own away, and leaves a note in its place, with which git does not work."""
    own = {".git"}
    for opened in walk_folders(worktree):
        with os.scandir(opened) as listing:
            found = [entry.name for entry in listing if is_git_name(os.fsencode(entry.name)) and entry.name not in own]
        own.clear()
        for name in found:
            _set_aside(opened, name, aside)


def _set_aside(folder: int, name: str, aside: Path) -> None:
    aside.mkdir(parents=True, exist_ok=True)
    away = aside / f"git-{uuid.uuid4().hex[:8]}"
    with contextlib.suppress(NotADirectoryError):
        make_accessible(name, parent=folder)
    os.rename(name, away, src_dir_fd=folder)
    with os.fdopen(os.open(name, _NEW, 0o644, dir_fd=folder), "w") as note:
        note.write(f"Moved aside by Treehand: {away}\n")
