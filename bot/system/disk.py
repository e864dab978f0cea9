"""The disk as a resource: how much of it is free, whether that is too little, and what takes how much."""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LEAST_FILES = 50_000
"""So many more files must fit, where a file system counts them: one worktree with its dependencies has as many."""
_SLACK = 1.1
"""Once there was too little, there must be a tenth more than is wanted, or all would stop and start again."""
_SPARE_GB = 2.0
"""More than is wanted has to be free for what nobody waits for."""
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Level:
    """What is free, and what is wanted."""

    free_gb: float
    least_gb: float
    free_files: int | None = None
    """How many more files fit; None: nobody counts them."""
    least_files: int = 0

    @property
    def lack(self) -> str:
        """What there is too little of; empty: nothing."""
        if self.free_gb < self.least_gb:
            return f"only {self.free_gb:.1f} GB of disk are free ({self.least_gb:g} are wanted)"
        if self.free_files is not None and self.free_files < self.least_files:
            return f"only {self.free_files:,} more files fit on the disk ({self.least_files:,} are wanted)"
        return ""

    @property
    def is_critical(self) -> bool:
        """Less than half of what is wanted."""
        files = self.least_files if self.free_files is None else self.free_files
        return self.free_gb < self.least_gb / 2 or files < self.least_files / 2

    def __str__(self) -> str:
        files = "" if self.free_files is None else f", {self.free_files:,} more files fit"
        return f"{self.free_gb:.1f} GB free{files}"


class Disk:
    def __init__(self, folder: Path, least_gb: float) -> None:
        """`least_gb` 0: nothing is ever too little."""
        self._folder, self._least_gb = folder, least_gb
        self._was_short = False

    def level(self) -> Level:
        level = self._measured(_SLACK if self._was_short else 1.0)
        self._was_short = bool(level.lack)
        return level

    def has_spare(self) -> bool:
        """There is room for what nobody waits for."""
        level = self._measured(1.0)
        return not self._least_gb or not (level.lack or level.free_gb < self._least_gb + _SPARE_GB)

    def _measured(self, slack: float) -> Level:
        found = os.statvfs(self._folder)
        files = found.f_favail if found.f_files else None
        least_files = round(LEAST_FILES * slack) if self._least_gb else 0
        least_gb = round(self._least_gb * slack, 3)
        return Level(found.f_bavail * found.f_frsize / 1e9, least_gb, files, least_files)


def shown_sizes(folders: Sequence[tuple[str, Path]], *, seconds: float) -> str:
    """What each takes on the disk, for people; where time is up, what was counted by then."""
    until = time.monotonic() + seconds
    return ", ".join(f"{name} {_size(folder, until)}" for name, folder in folders if folder.exists())


def _size(folder: Path, until: float) -> str:
    counted = 0
    for size in _sizes(folder):
        counted += size
        if time.monotonic() > until:
            return f"more than {_in_words(counted)}"
    return _in_words(counted)


def _sizes(folder: Path) -> Iterator[int]:
    """No link is followed; what cannot be read counts nothing."""
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


def _in_words(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"  # noqa: PLR2004 - as it reads
