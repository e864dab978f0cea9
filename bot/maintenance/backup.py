"""One archive of everything that cannot be seen again, taken while the daemon works.

Rule: databases first, what git has and worktrees hold after them, in each repository its objects last. So what is in
there is no older than the databases say: restored, it is a crash at that moment, and goes on from it. Worktrees are
hostile ground: nothing is followed, and no folder is entered but the one that its parent listed.
"""

import gzip
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from bot.errors import CannotStart
from bot.system.database import copy_database

_DATABASES = ("*.db", "forge/*.sqlite")
_LEFT_OUT = frozenset({"agent", "caches", "cells", "daemon.id", "demo", "trash", "treehand.log"})
"""Made again when needed; or, as `daemon.id`, of this one place alone: a copy is another daemon."""
_PASSING = ("-wal", "-shm", "-journal", ".lock")
_OBJECTS = "objects"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class Backup:
    files: int = 0
    left_out: int = 0
    """What could not be read: gone meanwhile, or not ours to read."""


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    """Below the state directory; empty: itself."""
    identity: tuple[int, int]


def ensure_worth_it(state_dir: Path) -> None:
    """An archive of nothing would be taken for a backup."""
    try:
        is_ours = state_dir.is_dir() and any(_databases_in(state_dir))
    except OSError:
        is_ours = False
    if not is_ours:
        raise CannotStart(
            f"There is nothing to back up: {state_dir} holds no database that you may read. "
            "Is it the right state_dir, and is it yours?"
        )


def back_up(state_dir: Path, to: Path) -> Backup:
    """Whole or not there, and for its owner's eyes alone."""
    _check(state_dir, to)
    fresh = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(opened, "wb") as stream:
            made = write_backup(state_dir, stream)
            stream.flush()
            os.fsync(opened)
        fresh.rename(to)
    except OSError as problem:
        raise CannotStart(f"There is no backup at {to}: {problem}.") from problem
    finally:
        fresh.unlink(missing_ok=True)
    return made


def write_backup(state_dir: Path, stream: IO[bytes]) -> Backup:
    """One after the other: nothing is asked of the stream but to take it."""
    if not state_dir.is_dir():
        raise CannotStart(f"There is nothing to back up: {state_dir} is not there.")
    made = Backup()
    packed = gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=3)
    with packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        known = _add_databases(archive, state_dir, made)
        for name, folder in _everything(state_dir):
            if name not in known:
                _add(archive, name, folder, made)
    return made


def _check(state_dir: Path, to: Path) -> None:
    if to.exists():
        raise CannotStart(f"{to} is there already; no backup is written over another. Name a new one.")
    if not to.parent.is_dir():
        raise CannotStart(f"{to.parent} is not there: make that folder first, or name another.")
    if to.resolve().is_relative_to(state_dir.resolve()):
        raise CannotStart(f"{to} is in the state_dir itself: name a place outside of it.")


def _databases_in(state_dir: Path) -> Iterator[Path]:
    return (path for pattern in _DATABASES for path in sorted(state_dir.glob(pattern)))


def _add_databases(archive: tarfile.TarFile, state_dir: Path, made: Backup) -> frozenset[str]:
    """Each as it is between two of its writes."""
    found = list(_databases_in(state_dir))
    with TemporaryDirectory() as folder:
        for path in found:
            copy = Path(folder) / "copy"
            copy_database(path, copy)
            archive.add(copy, str(path.relative_to(state_dir)), filter=_as_ours)
            copy.unlink()
            made.files += 1
    return frozenset(str(path.relative_to(state_dir)) for path in found)


def _as_ours(told: tarfile.TarInfo) -> tarfile.TarInfo:
    told.uid, told.gid, told.uname, told.gname, told.mode = os.geteuid(), os.getegid(), "", "", 0o600
    return told


def _everything(state_dir: Path) -> Iterator[tuple[str, int]]:
    """Each name below the state directory with the folder it is in, open; a folder before what it holds."""
    top = state_dir.stat()
    waiting = [_Place("", (top.st_dev, top.st_ino))]
    while waiting:
        place = waiting.pop()
        try:
            opened = os.open(state_dir / place.path, _FOLDER)
        except OSError:  # removed meanwhile
            continue
        try:
            status = os.fstat(opened)
            if (status.st_dev, status.st_ino) != place.identity:
                continue
            with os.scandir(opened) as entries:
                names = sorted(entry.name for entry in entries if _is_wanted(place.path, entry.name))
            waiting += _folders(place.path, sorted(names, key=_OBJECTS.__ne__), opened)
            for name in names:
                yield _below(place.path, name), opened
        finally:
            os.close(opened)


def _below(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _is_wanted(path: str, name: str) -> bool:
    passing = name.endswith(_PASSING) and path.partition("/")[0] in {"", "forge"}
    return not passing and (bool(path) or not (name in _LEFT_OUT or name.startswith("treehand.log")))


def _folders(path: str, names: list[str], opened: int) -> Iterator[_Place]:
    """The last one is the first to be looked into."""
    for name in names:
        try:
            status = os.stat(name, dir_fd=opened, follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            yield _Place(_below(path, name), (status.st_dev, status.st_ino))


def _add(archive: tarfile.TarFile, path: str, folder: int, made: Backup) -> None:
    """What is neither file, folder nor link is nothing that anybody needs again."""
    name = path.rpartition("/")[2]
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        told = _described(path, status)
        if stat.S_ISLNK(status.st_mode):
            told.type, told.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
        opened = os.open(name, _FILE, dir_fd=folder) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        made.left_out += 1
        return
    if opened is not None:
        with os.fdopen(opened, "rb") as stream:
            told.size = os.fstat(opened).st_size
            archive.addfile(told, _Steady(stream))  # type: ignore[arg-type]
        made.files += 1
    elif stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
        archive.addfile(told)


def _described(path: str, status: os.stat_result) -> tarfile.TarInfo:
    told = tarfile.TarInfo(path)
    told.mode, told.mtime = stat.S_IMODE(status.st_mode), status.st_mtime
    told.uid, told.gid = status.st_uid, status.st_gid
    if stat.S_ISDIR(status.st_mode):
        told.type = tarfile.DIRTYPE
    return told


class _Steady:
    """As long as it was said to be, whatever becomes of the file meanwhile."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        return self._stream.read(size).ljust(size, b"\0")
