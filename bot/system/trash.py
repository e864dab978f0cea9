"""Trash: moves files that agents left out of the way at once and deletes them afterwards.

Rule: follows no link, enters no mount, and has no depth limit: each folder is first moved to the top of the trash, so
that every path used is one name long. A file that cannot be deleted is reported and stops nothing else. Nobody waits
for a million files: the next call continues.
"""

import contextlib
import os
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SECONDS = 1.0


class Trash:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._emptying = threading.Lock()
        self.has_more = False
        """Time was up before all of it was deleted."""

    def throw(self, path: Path) -> None:
        """Moves a path into the trash, if it exists."""
        if os.path.lexists(path):
            away = self._new_place()
            try:
                path.rename(away)
            except PermissionError:  # a folder without permissions for its owner cannot be moved
                make_accessible(path)
                path.rename(away)

    def throw_from(self, folder: Path, inside: bytes) -> None:
        """Moves a folder out of a worktree without following links on the way to it."""
        *way, name = inside.split(b"/")
        opened = os.open(folder, _OPEN_FOLDER)
        try:
            for step in way:
                inner = os.open(step, _OPEN_FOLDER, dir_fd=opened)
                os.close(opened)
                opened = inner
            make_accessible(name, parent=opened)
            os.rename(name, self._new_place(), src_dir_fd=opened)
        finally:
            os.close(opened)

    def empty(self, *, seconds: float = _SECONDS) -> tuple[str, ...]:
        """Deletes everything, or what it can in this time. Returns what could not be deleted and why.

        The next call tries again. Where another call is at it for as long, nobody waits for both.
        """
        if not self._emptying.acquire(timeout=seconds):
            self.has_more = True
            return ()
        try:
            return self._delete_until(time.monotonic() + seconds) if self._folder.exists() else ()
        finally:
            self._emptying.release()

    def _delete_until(self, until: float) -> tuple[str, ...]:
        top = os.open(self._folder, _OPEN_FOLDER)
        try:
            deleting = _Deleting(top, until)
            self.has_more = not deleting.delete_all()
            return tuple(f"{self._folder}: {problem}" for problem in deleting.stuck)
        finally:
            os.close(top)

    def _new_place(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / uuid.uuid4().hex


class _TimeUp(Exception):
    """The rest is deleted by the next call."""


@dataclass(slots=True)
class _Deleting:
    """Deletes what is in an opened folder."""

    top: int
    until: float
    stuck: list[str] = field(default_factory=list)
    """Files that could not be deleted, each with the reason."""

    def delete_all(self) -> bool:
        """Returns False if the time was up."""
        with os.scandir(self.top) as listing:
            waiting = [item.name for item in listing]
        while waiting:
            name = waiting.pop()
            try:
                waiting += self._delete(name)
            except FileNotFoundError:
                continue
            except OSError as exc:
                self.stuck.append(_describe_error(name, exc))
            except _TimeUp:
                return False
        return True

    def _delete(self, name: str) -> list[str]:
        """Deletes a file or empties a folder. Returns the folders moved to the top."""
        with contextlib.suppress(NotADirectoryError):
            make_accessible(name, parent=self.top)
            inner, is_empty = self._empty_folder(name)
            if is_empty:
                os.rmdir(name, dir_fd=self.top)
            return inner
        os.unlink(name, dir_fd=self.top)
        return []

    def _empty_folder(self, name: str) -> tuple[list[str], bool]:
        inner, known = [], len(self.stuck)
        folder = os.open(name, _OPEN_FOLDER, dir_fd=self.top)
        try:
            with os.scandir(folder) as listing:
                items = list(listing)
            for item in items:
                if time.monotonic() > self.until:
                    raise _TimeUp
                try:
                    inner += self._delete_or_lift(item, folder)
                except OSError as exc:
                    self.stuck.append(_describe_error(item.name, exc))
        finally:
            os.close(folder)
        return inner, len(self.stuck) == known

    def _delete_or_lift(self, item: "os.DirEntry[str]", folder: int) -> list[str]:
        if not item.is_dir(follow_symlinks=False):
            os.unlink(item.name, dir_fd=folder)
            return []
        make_accessible(item.name, parent=folder)
        new = uuid.uuid4().hex
        os.rename(item.name, new, src_dir_fd=folder, dst_dir_fd=self.top)
        return [new]


def discard(path: Path, trash: Path) -> None:
    """Deletes a folder that agents wrote to. What takes long, or cannot be deleted, is left to the next call."""
    with contextlib.suppress(OSError):
        Trash(trash).throw(path)
        Trash(trash).empty()


def _describe_error(name: str, exc: OSError) -> str:
    return f"{name!a} cannot be deleted ({(exc.strerror or 'no reason given').lower()})"


def make_accessible(name: str | bytes | Path, parent: int | None = None) -> None:
    """Gives the owner permissions on a folder."""
    if sys.platform != "linux":
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        # an O_PATH descriptor cannot be changed itself; its /proc path can
        Path(f"/proc/self/fd/{handle}").chmod(0o700)
    finally:
        os.close(handle)
