"""Makes folders the property of the user an agent works as, where we are root. Follows no link."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path


def give(folders: Iterable[Path], uid: int) -> None:
    """While nothing runs in them."""
    for folder in folders:
        for path, status in _everything(os.fspath(folder)):
            if status.st_uid != uid:
                os.chown(path, uid, uid, follow_symlinks=False)


def _everything(top: str) -> Iterator[tuple[str, os.stat_result]]:
    yield top, os.lstat(top)
    waiting = [top]
    while waiting:
        for path, status in _entries(waiting.pop()):
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)


def _entries(folder: str) -> list[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as listing:
            return [(entry.path, entry.stat(follow_symlinks=False)) for entry in listing]
    except OSError as exc:
        if exc.errno == errno.ENAMETOOLONG:
            return []  # only an agent goes this deep, and whatever it made is its own
        raise
