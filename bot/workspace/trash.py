"""Deletes what agents leave behind: out of the way at once, gone soon after.

Rule: no link is followed, no mount entered, nothing is too deep: every folder is first brought to the top of the trash,
so that each path used here is one name long.
"""

import contextlib
import os
import sys
import threading
import uuid
from pathlib import Path

from bot.errors import Retryable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Trash:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._emptying = threading.Lock()

    def throw(self, path: Path) -> None:
        """Out of the way. What is not there is fine."""
        if os.path.lexists(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            away = self._folder / uuid.uuid4().hex
            try:
                path.rename(away)
            except PermissionError:  # a folder that is closed to its owner cannot be moved
                _open_up(path)
                path.rename(away)

    def empty(self) -> None:
        """Also what a process that died left in it."""
        with self._emptying:
            if not self._folder.exists():
                return
            top = os.open(self._folder, _FOLDER)
            try:
                stuck = _delete_all(top)
            finally:
                os.close(top)
        if stuck:
            raise Retryable(f"{len(stuck)} things in {self._folder} could not be deleted: {stuck[0]}")


def _delete_all(top: int) -> list[OSError]:
    waiting, stuck = os.listdir(top), []
    while waiting:
        try:
            waiting.extend(_delete(waiting.pop(), top))
        except FileNotFoundError:
            continue
        except OSError as exc:
            stuck.append(exc)
    return stuck


def _delete(name: str, top: int) -> list[str]:
    """A file, or a folder whose own folders become the next to delete."""
    with contextlib.suppress(NotADirectoryError):
        _open_up(name, parent=top)
        inner = _take_apart(name, top)
        os.rmdir(name, dir_fd=top)
        return inner
    os.unlink(name, dir_fd=top)
    return []


def _take_apart(name: str, top: int) -> list[str]:
    inner = []
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        with os.scandir(folder) as listing:
            items = list(listing)
        for item in items:
            if item.is_dir(follow_symlinks=False):
                _open_up(item.name, parent=folder)
                inner.append(uuid.uuid4().hex)
                os.rename(item.name, inner[-1], src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(item.name, dir_fd=folder)
    finally:
        os.close(folder)
    return inner


def _open_up(name: str | Path, parent: int | None = None) -> None:
    """A folder may have been closed even to its owner."""
    if sys.platform != "linux":
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        # a descriptor of this kind cannot be changed itself, but names what it stands for
        Path(f"/proc/self/fd/{handle}").chmod(0o700)
    finally:
        os.close(handle)
