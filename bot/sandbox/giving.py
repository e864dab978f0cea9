"""Makes folders the property of the user an agent works as, where we are root. Follows no link."""

import errno
import os
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
        try:
            with os.scandir(waiting.pop()) as listing:
                found = list(listing)
        except OSError as exc:
            if exc.errno != errno.ENAMETOOLONG:
                raise
            continue  # only an agent goes this deep, and whatever it made is its own
        for entry in found:
            yield entry.path, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
