"""Port blocks: allocates ten consecutive port numbers to each worktree, for as long as it exists.

Rule: a block is a file with the path of its worktree; allocation holds a lock.
"""

import contextlib
import fcntl
import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

BLOCK_SIZE = 10
_FIRST, _BLOCK_COUNT = 20_000, 1_200
"""Below the ports that Linux assigns by itself, above the usual ports of servers."""


class PortBlocks:
    def __init__(self, folder: Path) -> None:
        """`folder` is for its own use, and for all projects."""
        self._folder = folder

    def allocate(self, worktree: Path, *, avoid_taken: bool = False) -> tuple[int, ...]:
        """`avoid_taken`: allocates another block if a port is in use; for a worktree without servers yet."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            for file, owner in self._allocated():
                if owner == str(worktree):
                    ports = _ports(int(file.name))
                    if not avoid_taken or all(map(_is_free, ports)):
                        return ports
                    file.unlink()
            return _ports(next(first for first in _candidate_blocks(worktree) if self._reserve(first, worktree)))

    def release(self, worktree: Path) -> None:
        if not self._folder.is_dir():
            return
        with self._locked():
            for file, owner in self._allocated():
                if owner == str(worktree):
                    file.unlink()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        opened = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX)
            yield
        finally:
            os.close(opened)

    def _reserve(self, first: int, worktree: Path) -> bool:
        file = self._folder / str(first)
        if file.exists() and Path(file.read_text()).is_dir():
            return False
        if not all(map(_is_free, _ports(first))):
            return False
        file.write_text(str(worktree))  # also replaces the block of a worktree that is gone
        return True

    def _allocated(self) -> Iterator[tuple[Path, str]]:
        for file in sorted(self._folder.glob("[0-9]*")):
            yield file, file.read_text()


def _candidate_blocks(worktree: Path) -> Iterator[int]:
    """Every block, beginning with one that follows from the name, so that it is the same on another machine."""
    start = int.from_bytes(hashlib.sha256(str(worktree).encode()).digest()[:4], "big")
    for number in range(_BLOCK_COUNT):
        yield _FIRST + BLOCK_SIZE * ((start + number) % _BLOCK_COUNT)


def _ports(first: int) -> tuple[int, ...]:
    return tuple(range(first, first + BLOCK_SIZE))


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
