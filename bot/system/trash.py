"""Deletes what agents leave behind: out of the way at once, gone soon after.

Rule: no link is followed, no mount entered, nothing is too deep: every folder is first brought to the top of the trash,
so that each path used here is one name long. What cannot be deleted is named, and keeps nothing else.
"""

import contextlib
import os
import sys
import threading
import uuid
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Trash:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._emptying = threading.Lock()

    def throw(self, path: Path) -> None:
        """Out of the way. What is not there is fine."""
        if os.path.lexists(path):
            away = self._new_place()
            try:
                path.rename(away)
            except PermissionError:  # a folder that is closed to its owner cannot be moved
                _open_up(path)
                path.rename(away)

    def throw_from(self, folder: Path, inside: bytes) -> None:
        """A folder somewhere in one that agents write in: no link on the way there is followed."""
        *way, name = inside.split(b"/")
        opened = os.open(folder, _FOLDER)
        try:
            for step in way:
                inner = os.open(step, _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = inner
            _open_up(name, parent=opened)
            os.rename(name, self._new_place(), src_dir_fd=opened)
        finally:
            os.close(opened)

    def empty(self) -> tuple[str, ...]:
        """Also what a process that died left in it. What could not be deleted, and why: the next time tries again."""
        with self._emptying:
            if not self._folder.exists():
                return ()
            top = os.open(self._folder, _FOLDER)
            try:
                return tuple(f"{self._folder}: {problem}" for problem in _delete_all(top))
            finally:
                os.close(top)

    def _new_place(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / uuid.uuid4().hex


def _delete_all(top: int) -> list[str]:
    waiting, stuck = os.listdir(top), list[str]()
    while waiting:
        name = waiting.pop()
        try:
            inner, left = _delete(name, top)
        except FileNotFoundError:
            continue
        except OSError as exc:
            stuck.append(_in_words(name, exc))
        else:
            waiting += inner
            stuck += left
    return stuck


def _delete(name: str, top: int) -> tuple[list[str], list[str]]:
    """A file, or a folder: its own folders, which are the next to delete, and what is stuck in it."""
    with contextlib.suppress(NotADirectoryError):
        _open_up(name, parent=top)
        inner, stuck = _take_apart(name, top)
        if not stuck:
            os.rmdir(name, dir_fd=top)
        return inner, stuck
    os.unlink(name, dir_fd=top)
    return [], []


def _take_apart(name: str, top: int) -> tuple[list[str], list[str]]:
    inner, stuck = [], []
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        with os.scandir(folder) as listing:
            items = list(listing)
        for item in items:
            try:
                inner += _take_out(item, folder, top)
            except OSError as exc:
                stuck.append(_in_words(item.name, exc))
    finally:
        os.close(folder)
    return inner, stuck


def _take_out(item: "os.DirEntry[str]", folder: int, top: int) -> list[str]:
    if not item.is_dir(follow_symlinks=False):
        os.unlink(item.name, dir_fd=folder)
        return []
    _open_up(item.name, parent=folder)
    new = uuid.uuid4().hex
    os.rename(item.name, new, src_dir_fd=folder, dst_dir_fd=top)
    return [new]


def _in_words(name: str, exc: OSError) -> str:
    return f"{name!a} cannot be deleted ({(exc.strerror or 'no reason given').lower()})"


def _open_up(name: str | bytes | Path, parent: int | None = None) -> None:
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
