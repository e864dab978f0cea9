"""Backup: one archive of the state directory, taken while the daemon works.

Rule: databases first, then files, and in each repository its objects last, so that files are no older than the
databases say: a restored backup continues as after a crash. No link is followed, and only folders that their parent
listed are entered. The operator's files that were copied into a worktree stay out: the next turn copies them again.
"""

import errno
import gzip
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from bot.errors import CannotStart
from bot.publish_guard.size_limits import MAX_FILE_BYTES
from bot.system.database import copy_database
from bot.workspace.setup_record import read_setup_record

_DATABASES = ("*.db", "forge/*.sqlite")
_NOT_BACKED_UP = frozenset({"agent", "caches", "cells", "daemon.id", "demo", "toolchains", "trash", "treehand.log"})
"""Recreated when needed; `daemon.id` must stay unique to this state directory."""
_TRANSIENT_SUFFIXES = ("-wal", "-shm", "-journal", ".lock")
_OBJECTS = "objects"
_WORKTREES, _WORKTREE_DEPTH = "worktrees", 2
_WRITTEN_BY_AGENTS = frozenset({_WORKTREES, "aside"})
_PERMISSIONS = 0o777
"""Files belong to the person who unpacks the archive, so no program of an agent keeps a set-uid bit."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class Backup:
    files: int = 0
    left_out: int = 0
    """Files that could not be read: removed meanwhile, without permission, or too large for a commit."""


@dataclass(frozen=True, slots=True)
class _OpenedFolder:
    path: str
    """Path below the state directory; empty for the directory itself."""
    identity: tuple[int, int]
    withheld: frozenset[str] = frozenset()
    """Copies of the operator's files, by path."""


def ensure_has_database(state_dir: Path) -> None:
    """Raises CannotStart if there is no database: an empty archive would look like a backup."""
    try:
        is_ours = state_dir.is_dir() and any(_databases_in(state_dir))
    except OSError:
        is_ours = False
    if not is_ours:
        raise CannotStart(
            f"There is nothing to back up: {state_dir} contains no database that you can read. "
            "Check that it is the right state_dir, and that it is yours."
        )


def back_up(state_dir: Path, to: Path) -> Backup:
    """Writes the archive completely or not at all, readable by its owner only."""
    _check_target(state_dir, to)
    fresh = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(opened, "wb") as stream:
            made = write_backup(state_dir, stream)
            stream.flush()
            os.fsync(opened)
        fresh.rename(to)
    except OSError as problem:
        raise CannotStart(f"No backup was written to {to}: {problem}.") from problem
    finally:
        fresh.unlink(missing_ok=True)
    return made


def write_backup(state_dir: Path, stream: IO[bytes]) -> Backup:
    """Writes the archive sequentially; the stream need not be seekable."""
    if not state_dir.is_dir():
        raise CannotStart(f"There is nothing to back up: {state_dir} does not exist.")
    made = Backup()
    packed = gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=3)
    with packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        known = _add_databases(archive, state_dir, made)
        for name, folder in _walk(state_dir):
            if name not in known:
                _add(archive, name, folder, made)
    return made


def _check_target(state_dir: Path, to: Path) -> None:
    if to.exists():
        raise CannotStart(f"{to} exists already and is not overwritten. Name a new file.")
    if not to.parent.is_dir():
        raise CannotStart(f"{to.parent} does not exist: create that folder first, or name another.")
    if to.resolve().is_relative_to(state_dir.resolve()):
        raise CannotStart(f"{to} is inside the state_dir: name a path outside of it.")


def _databases_in(state_dir: Path) -> Iterator[Path]:
    return (path for pattern in _DATABASES for path in sorted(state_dir.glob(pattern)))


def _add_databases(archive: tarfile.TarFile, state_dir: Path, made: Backup) -> frozenset[str]:
    """Adds a consistent copy of each database."""
    found = list(_databases_in(state_dir))
    with TemporaryDirectory() as folder:
        for path in found:
            copy = Path(folder) / "copy"
            copy_database(path, copy)
            archive.add(copy, str(path.relative_to(state_dir)), filter=_owned_by_us)
            copy.unlink()
            made.files += 1
    return frozenset(str(path.relative_to(state_dir)) for path in found)


def _owned_by_us(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid, info.gid, info.uname, info.gname, info.mode = os.geteuid(), os.getegid(), "", "", 0o600
    return info


def _walk(state_dir: Path) -> Iterator[tuple[str, int]]:
    """Yields each path below the state directory with its opened parent folder; a folder before its content."""
    top = state_dir.stat()
    waiting = [_OpenedFolder("", (top.st_dev, top.st_ino))]
    while waiting:
        folder_path = waiting.pop()
        try:
            opened = os.open(state_dir / folder_path.path, _FOLDER)
        except OSError:  # removed in the meantime
            continue
        try:
            status = os.fstat(opened)
            if (status.st_dev, status.st_ino) != folder_path.identity:
                continue
            withheld = folder_path.withheld or _copied_files(state_dir, folder_path.path)
            with os.scandir(opened) as entries:
                listed = (entry.name for entry in entries if _is_wanted(folder_path.path, entry.name))
                names = sorted(name for name in listed if _join(folder_path.path, name) not in withheld)
            waiting += _folders(replace(folder_path, withheld=withheld), sorted(names, key=_OBJECTS.__ne__), opened)
            for name in names:
                yield _join(folder_path.path, name), opened
        finally:
            os.close(opened)


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _is_wanted(path: str, name: str) -> bool:
    passing = name.endswith(_TRANSIENT_SUFFIXES) and path.partition("/")[0] in {"", "forge"}
    return not passing and (bool(path) or not (name in _NOT_BACKED_UP or name.startswith("treehand.log")))


def _copied_files(state_dir: Path, path: str) -> frozenset[str]:
    """Paths of the operator's files in a worktree; empty for any other folder."""
    kind, *names = path.split("/")
    if kind != _WORKTREES or len(names) != _WORKTREE_DEPTH:
        return frozenset()
    project, worktree = names
    record = read_setup_record(state_dir / "mirrors" / f"{project}.git" / "worktrees" / worktree)
    return frozenset(f"{path}/{name}" for name in record.copied)


def _folders(parent: _OpenedFolder, names: list[str], opened: int) -> Iterator[_OpenedFolder]:
    """The last folder is entered first."""
    for name in names:
        try:
            status = os.stat(name, dir_fd=opened, follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            yield _OpenedFolder(_join(parent.path, name), (status.st_dev, status.st_ino), parent.withheld)


def _add(archive: tarfile.TarFile, path: str, folder: int, made: Backup) -> None:
    """Adds files, folders and links; skips sockets and the like."""
    name = path.rpartition("/")[2]
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _refuse_huge(path, status)
        info = _tar_info(path, status)
        if stat.S_ISLNK(status.st_mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
        opened = os.open(name, _FILE, dir_fd=folder) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        made.left_out += 1
        return
    if opened is not None:
        with os.fdopen(opened, "rb") as stream:
            info.size = os.fstat(opened).st_size
            archive.addfile(info, _FixedSizeStream(stream))  # type: ignore[arg-type]
        made.files += 1
    elif stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
        archive.addfile(info)


def _refuse_huge(path: str, status: os.stat_result) -> None:
    """A file that no commit may hold could also be without end: a hole has a size, too."""
    if path.partition("/")[0] in _WRITTEN_BY_AGENTS and status.st_size > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, "too large", path)


def _tar_info(path: str, status: os.stat_result) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.mode, info.mtime = status.st_mode & _PERMISSIONS, status.st_mtime
    info.uid, info.gid = status.st_uid, status.st_gid
    if stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
    return info


class _FixedSizeStream:
    """A stream of the announced size, even if the file shrinks meanwhile."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        return self._stream.read(size).ljust(size, b"\0")
