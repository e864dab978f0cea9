"""Disk limits: measures free space and free files, recognizes a full disk, and reports shortage and folder sizes."""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MIN_FREE_FILES = 50_000
"""Free files (inodes) required where the file system limits them: about one worktree with its dependencies."""
_RESUME_FACTOR = 1.1
"""After a shortage, a tenth more than the minimum must be free, so that work does not stop and start repeatedly."""
_SPARE_GB = 2.0
"""Additional free space required for background work, such as filling the pool."""
_BLOCK = 512
_FULL_GB = 0.001
"""With less, the disk counts as full, whatever the limit is."""
_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", "ENOSPC", "EDQUOT")


@dataclass(frozen=True, slots=True)
class DiskLevel:
    """Free space and the required minimum."""

    free_gb: float
    min_free_gb: float
    free_files: int | None = None
    """Missing if the file system has no limit."""
    min_free_files: int = 0

    @property
    def shortage(self) -> str:
        """Describes what is short; empty if enough is free."""
        if self.is_full:
            return "the disk is full"
        if self.free_gb < self.min_free_gb:
            return f"only {self.free_gb:.1f} GB of disk are free ({self.min_free_gb:g} are required)"
        if self.free_files is not None and self.free_files < self.min_free_files:
            return f"only {self.free_files:,} more files fit on the disk ({self.min_free_files:,} are required)"
        return ""

    @property
    def is_full(self) -> bool:
        return self.free_gb < _FULL_GB or self.free_files == 0

    @property
    def is_critical(self) -> bool:
        """Less than half of the minimum is free."""
        files = self.min_free_files if self.free_files is None else self.free_files
        return self.free_gb < self.min_free_gb / 2 or files < self.min_free_files / 2

    def __str__(self) -> str:
        files = "" if self.free_files is None else f", {self.free_files:,} more files fit"
        return f"{self.free_gb:.1f} GB free{files}"


class Disk:
    def __init__(self, folder: Path, least_gb: float) -> None:
        """0 disables the limit."""
        self._folder, self._min_free_gb = folder, least_gb
        self._was_short = False

    def require(self, gb: float) -> None:
        """Sets another limit."""
        self._min_free_gb = gb

    def level(self) -> DiskLevel:
        level = self._measure(_RESUME_FACTOR if self._was_short else 1.0)
        self._was_short = bool(level.shortage)
        return level

    def has_spare(self) -> bool:
        """Enough is free for background work."""
        level = self._measure(1.0)
        return not self._min_free_gb or not (level.shortage or level.free_gb < self._min_free_gb + _SPARE_GB)

    def _measure(self, slack: float) -> DiskLevel:
        found = os.statvfs(self._folder)
        files = found.f_favail if found.f_files else None
        least_files = round(MIN_FREE_FILES * slack) if self._min_free_gb else 0
        least_gb = round(self._min_free_gb * slack, 3)
        return DiskLevel(found.f_bavail * found.f_frsize / 1e9, least_gb, files, least_files)


def is_full_disk(problem: BaseException) -> bool:
    """Returns True if the error, or one that caused it, says that a disk or a quota has no room left."""
    return _find_full_disk(problem) is not None


def _find_full_disk(problem: BaseException) -> BaseException | None:
    waiting, seen = [problem], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))  # an error raised from its own group is its own cause
        if isinstance(one, OSError) and one.errno in _FULL_ERRORS:
            return one
        if isinstance(one, sqlite3.Error) and getattr(one, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return one
        waiting += [one.__cause__] if one.__cause__ else []
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
    return None


def says_full_disk(output: str) -> bool:
    """Returns True if the output of a program says that a disk or a quota has no room left."""
    return any(words in output for words in _FULL_WORDS)


def full_disk_text(problem: BaseException | None = None) -> str:
    """Names the place if the error knows it."""
    found = _find_full_disk(problem) if problem else None
    named = found.filename if isinstance(found, OSError) else None
    where = f" ({os.fsdecode(named)} could not be written)" if isinstance(named, str | bytes) else ""
    return f"The disk is full{where}. Free some space there, or raise its quota"


def describe_sizes(folders: Sequence[tuple[str, Path]], *, seconds: float) -> str:
    """Returns each folder's size for people; a lower bound when the time is up."""
    until = time.monotonic() + seconds
    return ", ".join(f"{name} {_size(folder, until)}" for name, folder in folders if folder.exists())


def _size(folder: Path, until: float) -> str:
    counted = 0
    for size in _sizes(folder):
        counted += size
        if time.monotonic() > until:
            return f"more than {_format_size(counted)}"
    return _format_size(counted)


def _sizes(folder: Path) -> Iterator[int]:
    """Follows no links; skips what cannot be read."""
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for item in listing:
                    status = item.stat(follow_symlinks=False)
                    yield status.st_blocks * _BLOCK
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(item.path)
        except OSError:
            continue


def _format_size(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"  # noqa: PLR2004 - as it reads
