"""Files under Git LFS in a worktree: puts objects in the place of pointers.

Rule: follows no link in a worktree, and takes no object that is damaged.
"""

import contextlib
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from bot.git.index import PROGRAM, IndexEntry, file_stamp
from bot.git.lfs import MAX_POINTER_BYTES, LfsObjects, Pointer, digest, lfs_objects, pointers_of
from bot.publish_guard.path_collisions import decode_path
from bot.text.invisible_characters import printable_path
from bot.workspace.safe_files import copy_within, open_within, read_within

log = logging.getLogger(__name__)

_MAX_NAMED = 5
_AGE_SECONDS = 10
"""A new file is this old, so that git need not read it again, and find the object in the place of the pointer."""


def put_objects(
    folder: Path, mirror: Path, entries: Mapping[bytes, IndexEntry], elsewhere: LfsObjects
) -> dict[bytes, IndexEntry]:
    """Puts objects in the place of their pointers. Returns the entries, with the stamps of these files.

    An object that is in `elsewhere` only is copied to the mirror. A pointer without an object stays as it is.
    """
    stamped = dict(entries)
    for path, pointer in pointers_of(mirror, entries):
        if source := _find(mirror, pointer, elsewhere):
            with contextlib.suppress(OSError):
                if stamp := _put_object(folder, decode_path(path), entries[path].mode, pointer, source):
                    stamped[path] = IndexEntry(stamp, entries[path].sha)
    return stamped


def name_missing_objects(repository: Path, entries: Mapping[bytes, IndexEntry]) -> tuple[str, ...]:
    """Names the files whose pointers only were there; empty if there are none."""
    objects = lfs_objects(repository)
    names = [printable_path(path) for path, pointer in pointers_of(repository, entries) if not objects.find(pointer)]
    if not names:
        return ()
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    count = f"{len(names)} file{'s' if len(names) != 1 else ''}"
    what = f"the content of {count} under Git LFS ({', '.join(names[:_MAX_NAMED])}{more})"
    why = "the objects were missing, so the agent saw pointers; `git lfs fetch` in the repository downloads them"
    return (f"{what}: {why}",)


def _find(mirror: Path, pointer: Pointer, elsewhere: LfsObjects) -> Path | None:
    objects = lfs_objects(mirror)
    if not objects.find(pointer) and (source := elsewhere.find(pointer)):
        try:
            objects.take(pointer, source)
        except OSError as problem:
            log.warning("object of Git LFS not taken reason=%s", problem)
    return objects.find(pointer)


def _put_object(folder: Path, path: str, mode: int, pointer: Pointer, source: Path) -> bytes | None:
    """Returns the stamp of the file; None if it holds something else."""
    with contextlib.suppress(OSError):
        if read_within(folder, path, limit=MAX_POINTER_BYTES) == pointer.content:
            copy_within(folder, path, source, mode=0o755 if mode == PROGRAM else 0o644, age=_AGE_SECONDS)
    with open_within(folder, path) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size != pointer.size:
            return None
        is_same = digest(opened) == pointer.oid
    return file_stamp(status, mode) if is_same else None
