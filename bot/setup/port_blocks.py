"""Ports for each worktree: ten in a row that no other worktree of ours has, the same for as long as it is there.

Rule: a block is a file that says whose it is; who looks for one is alone while looking.
"""

import contextlib
import fcntl
import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

SIZE = 10
_FIRST, _BLOCKS = 20_000, 1_200
"""Below what Linux gives out by itself, above what servers are usually found at."""


class Blocks:
    def __init__(self, folder: Path) -> None:
        """`folder` is for its own use, and for all projects."""
        self._folder = folder

    def block_for(self, worktree: Path, *, anew: bool = False) -> tuple[int, ...]:
        """`anew`: nothing of it runs yet, so it gets another where somebody else has taken one of its ports."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._alone():
            for file, owner in self._taken():
                if owner == str(worktree):
                    ports = _ports(int(file.name))
                    if not anew or all(map(_is_free, ports)):
                        return ports
                    file.unlink()
            return _ports(next(first for first in _candidates(worktree) if self._take(first, worktree)))

    def release(self, worktree: Path) -> None:
        if not self._folder.is_dir():
            return
        with self._alone():
            for file, owner in self._taken():
                if owner == str(worktree):
                    file.unlink()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        opened = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX)
            yield
        finally:
            os.close(opened)

    def _take(self, first: int, worktree: Path) -> bool:
        file = self._folder / str(first)
        if file.exists() and Path(file.read_text()).is_dir():
            return False
        if not all(map(_is_free, _ports(first))):
            return False
        file.write_text(str(worktree))  # also where one of a worktree that is gone was
        return True

    def _taken(self) -> Iterator[tuple[Path, str]]:
        for file in sorted(self._folder.glob("[0-9]*")):
            yield file, file.read_text()


def _candidates(worktree: Path) -> Iterator[int]:
    """Every block, from one on that follows from the name: another machine chooses alike."""
    start = int.from_bytes(hashlib.sha256(str(worktree).encode()).digest()[:4], "big")
    for number in range(_BLOCKS):
        yield _FIRST + SIZE * ((start + number) % _BLOCKS)


def _ports(first: int) -> tuple[int, ...]:
    return tuple(range(first, first + SIZE))


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
