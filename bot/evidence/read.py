"""Reads evidence files from a worktree that an agent controls: follows no link, opens nothing that could block.

Rule: a folder is opened through the one that listed it; size, number and depth are limited.
"""

import errno
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bot.domain.evidence import FOLDER, MOST_BYTES, MOST_FILES, is_plain_name
from bot.text.invisible_characters import printable_path
from bot.workspace.capture import read_file

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_ENTRIES = 500
"""Entries read in one folder."""
_MAX_TOTAL_ENTRIES = 5000
_MAX_DEPTH = 4
_MAX_LISTED = 20


def read_evidence(worktree: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Returns contents by name, and the files left out, each with the reason."""
    reading = _Reading()
    opened = _open_evidence_folder(worktree, reading)
    if opened is not None:
        reading.read(opened, "", _MAX_DEPTH)
    more = len(reading.left_out) - _MAX_LISTED
    return reading.found, (*reading.left_out[:_MAX_LISTED], *([f"and {more} more in {FOLDER}"] if more > 0 else []))


def _open_evidence_folder(worktree: Path, reading: "_Reading") -> int | None:
    opened = os.open(worktree, _OPEN_FOLDER)
    for name in FOLDER.split("/"):
        try:
            inner = os.open(name, _OPEN_FOLDER, dir_fd=opened)
        except FileNotFoundError:
            return None
        except OSError:
            reading.leave_out("", "not a folder, or a link")
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

    def leave_out(self, name: str, reason: str) -> None:
        self.left_out.append(f"{FOLDER}{'/' if name else ''}{printable_path(os.fsencode(name))}: {reason}")

    def read(self, opened: int, above: str, depth: int) -> None:
        """Reads an opened folder and closes it."""
        try:
            for name, status in _entries(opened):
                self._looked_at += 1
                if self._looked_at > _MAX_TOTAL_ENTRIES:
                    self.leave_out(above.rstrip("/"), "too many files; the rest was not read")
                    return
                self._consider(opened, name, f"{above}{name}", status, depth)
        finally:
            os.close(opened)

    def _consider(self, opened: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        if not is_plain_name(path):
            self.leave_out(path[:200], "its name is too long or has unusual characters")
        elif stat.S_ISDIR(status.st_mode):
            self._enter_folder(opened, name, path, depth)
        elif not stat.S_ISREG(status.st_mode):
            self.leave_out(path, "not a file")
        elif len(self.found) >= MOST_FILES:
            self.leave_out(path, f"at most {MOST_FILES} files are kept")
        else:
            self._read_file(opened, name, path)

    def _enter_folder(self, opened: int, name: str, path: str, depth: int) -> None:
        try:
            inner = os.open(name, _OPEN_FOLDER, dir_fd=opened) if depth > 1 else None
        except OSError:
            inner = None
        if inner is None:
            self.leave_out(path, "a folder that cannot be read or is too deep")
        else:
            self.read(inner, f"{path}/", depth - 1)

    def _read_file(self, opened: int, name: str, path: str) -> None:
        try:
            self.found[path] = read_file(os.fsencode(name), dir_fd=opened, limit=MOST_BYTES)[0]
        except OSError as exc:
            too_large = exc.errno == errno.EFBIG
            self.leave_out(path, f"larger than {MOST_BYTES / 1e6:g} MB" if too_large else "cannot be read")


def _entries(opened: int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(opened) as listing:
        names = sorted(entry.name for entry in islice(listing, _MAX_ENTRIES))
    for name in names:
        try:
            yield name, os.stat(name, dir_fd=opened, follow_symlinks=False)
        except OSError:
            continue
