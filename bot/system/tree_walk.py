"""Walks an untrusted folder by descriptors, while its programs may change it.

Rule: follows no link, enters no mount, uses no path twice and has no depth limit. It goes down by a name in the folder
that is open, and up only to the folder it came from.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.system.trash import make_accessible

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderMoved(OSError):
    """A program moved a folder while it was walked."""


@dataclass(frozen=True, slots=True)
class _Level:
    identity: tuple[int, int]
    waiting: list[str]
    """Names of folders in it that are still to be walked."""


def walk_folders(top: Path) -> Iterator[int]:
    """Yields a descriptor of each folder, `top` first. It is valid until the next one is asked for."""
    opened = os.open(top, _FOLDER)
    levels: list[_Level] = []
    try:
        yield opened
        levels.append(_level(opened))
        while levels:
            if levels[-1].waiting:
                inner = _go_down(opened, levels[-1].waiting.pop(), device=levels[0].identity[0])
                if inner >= 0:
                    os.close(opened)
                    opened = inner
                    yield opened
                    levels.append(_level(opened))
            elif levels.pop() and levels:
                outer = os.open("..", _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = outer
                if _identity(opened) != levels[-1].identity:
                    raise FolderMoved(f"A folder in {top} was moved while it was walked.")
    finally:
        os.close(opened)


def _level(opened: int) -> _Level:
    with os.scandir(opened) as listing:
        return _Level(_identity(opened), [entry.name for entry in listing if entry.is_dir(follow_symlinks=False)])


def _go_down(opened: int, name: str, *, device: int) -> int:
    """Returns the descriptor of an inner folder; -1 if it is none, or another file system."""
    try:
        inner = _open_inner(opened, name)
    except OSError:  # gone, replaced, or another user's
        return -1
    if _identity(inner)[0] != device:
        os.close(inner)
        return -1
    return inner


def _open_inner(opened: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=opened)
    except PermissionError:  # the owner may have removed the permission
        make_accessible(name, parent=opened)
        return os.open(name, _FOLDER, dir_fd=opened)


def _identity(opened: int) -> tuple[int, int]:
    status = os.fstat(opened)
    return status.st_dev, status.st_ino
