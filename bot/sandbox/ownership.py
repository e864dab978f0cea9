"""Makes folders the property of the user that an agent runs as, if Treehand is root.

Rule: what is changed is a file that is open, never a name: a program that swaps folders meanwhile gets nothing. A file
with a second name stays as it is, because the other name may be anybody's.
"""

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from bot.system.tree_walk import walk_folders

_AT_EMPTY_PATH = 0x1000
_ENTRY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


def chown_tree(folders: Iterable[Path], uid: int) -> None:
    for folder in folders:
        device = folder.lstat().st_dev
        for opened in walk_folders(folder):
            _chown(opened, uid, device)
            for name in os.listdir(opened):  # noqa: PTH208 - the folder is a descriptor
                _chown_entry(opened, name, uid, device)


def _chown_entry(folder: int, name: str, uid: int, device: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_uid == uid:
            return  # most are
        opened = os.open(name, _ENTRY, dir_fd=folder)
        try:
            _chown(opened, uid, device)
        finally:
            os.close(opened)


def _chown(opened: int, uid: int, device: int) -> None:
    """Changes exactly what is open."""
    status = os.fstat(opened)
    is_only_name = stat.S_ISDIR(status.st_mode) or status.st_nlink == 1
    if status.st_uid == uid or status.st_dev != device or not is_only_name:
        return
    if _libc.fchownat(opened, b"", uid, uid, _AT_EMPTY_PATH):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
