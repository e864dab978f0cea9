"""Reads what an agent left for people to see, on hostile ground: no link followed, nothing opened that could block.

Rule: a folder is opened in the one that listed it, and so much is read and no more, whatever lies there.
"""

import errno
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bot.domain.evidence import FOLDER, MOST_BYTES, MOST_FILES, is_plain_name
from bot.workspace.capture import read_file, shown

_OPENED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_ENTRIES = 500
"""Looked at, in one folder."""
_MOST_IN_ALL = 5000
_DEEPEST = 4
_LISTED = 20


def read_evidence(worktree: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Contents by name; and what was left out, each with the reason."""
    reading = _Reading()
    opened = _opened(worktree, reading)
    if opened is not None:
        reading.read(opened, "", _DEEPEST)
    more = len(reading.left_out) - _LISTED
    return reading.found, (*reading.left_out[:_LISTED], *([f"and {more} more in {FOLDER}"] if more > 0 else []))


def _opened(worktree: Path, reading: "_Reading") -> int | None:
    opened = os.open(worktree, _OPENED)
    for name in FOLDER.split("/"):
        try:
            inner = os.open(name, _OPENED, dir_fd=opened)
        except FileNotFoundError:
            return None
        except OSError:
            reading.leave("", "no folder, or a link")
            return None
        finally:
            os.close(opened)
        opened = inner
    return opened


class _Reading:
    def __init__(self) -> None:
        self.found: dict[str, bytes] = {}
        self.left_out: list[str] = []
        self._looked_at = 0

    def leave(self, name: str, reason: str) -> None:
        self.left_out.append(f"{FOLDER}{'/' if name else ''}{shown(os.fsencode(name))}: {reason}")

    def read(self, opened: int, above: str, depth: int) -> None:
        """Closes it, too."""
        try:
            for name, status in _entries(opened):
                self._looked_at += 1
                if self._looked_at > _MOST_IN_ALL:
                    self.leave(above.rstrip("/"), "so much lies there that I do not look at the rest")
                    return
                self._consider(opened, name, f"{above}{name}", status, depth)
        finally:
            os.close(opened)

    def _consider(self, opened: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        if not is_plain_name(path):
            self.leave(path[:200], "its name is too long, or has other than plain letters in it")
        elif stat.S_ISDIR(status.st_mode):
            self._go_in(opened, name, path, depth)
        elif not stat.S_ISREG(status.st_mode):
            self.leave(path, "no file")
        elif len(self.found) >= MOST_FILES:
            self.leave(path, f"{MOST_FILES} files are the most I keep")
        else:
            self._read_file(opened, name, path)

    def _go_in(self, opened: int, name: str, path: str, depth: int) -> None:
        try:
            inner = os.open(name, _OPENED, dir_fd=opened) if depth > 1 else None
        except OSError:
            inner = None
        if inner is None:
            self.leave(path, "a folder that I do not look into")
        else:
            self.read(inner, f"{path}/", depth - 1)

    def _read_file(self, opened: int, name: str, path: str) -> None:
        try:
            self.found[path] = read_file(os.fsencode(name), dir_fd=opened, limit=MOST_BYTES)[0]
        except OSError as exc:
            too_large = exc.errno == errno.EFBIG
            self.leave(path, f"larger than {MOST_BYTES / 1e6:g} MB" if too_large else "cannot be read")


def _entries(opened: int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(opened) as listing:
        names = sorted(entry.name for entry in islice(listing, _MOST_ENTRIES))
    for name in names:
        try:
            yield name, os.stat(name, dir_fd=opened, follow_symlinks=False)
        except OSError:
            continue
