"""Single files in a folder that others may have had their hands in: read and written without following any link."""

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from bot.workspace.capture import LARGEST_FILE, read_file

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_within(folder: Path, path: str, *, limit: int = LARGEST_FILE) -> bytes:
    """A regular file's content. Anything else, or a link on the way, is an OSError."""
    with _parent(folder, path) as (opened, name):
        return read_file(os.fsencode(name), dir_fd=opened, limit=limit)[0]


def status_within(folder: Path, path: str) -> os.stat_result:
    """Of what is there itself, be it a link."""
    with _parent(folder, path) as (opened, name):
        return os.stat(name, dir_fd=opened, follow_symlinks=False)


def write_within(folder: Path, path: str, content: bytes, *, mode: int = 0o600) -> None:
    """For its owner alone, in place of whatever was there. While nothing runs in the folder."""
    with _parent(folder, path, make=True) as (opened, name):
        fresh = f".{uuid.uuid4().hex}"
        descriptor = os.open(fresh, _NEW, mode, dir_fd=opened)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            os.rename(fresh, name, src_dir_fd=opened, dst_dir_fd=opened)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh, dir_fd=opened)
            raise


def remove_within(folder: Path, path: str) -> None:
    """A file, and the folders that are empty without it."""
    with _parent(folder, path) as (opened, name):
        os.unlink(name, dir_fd=opened)
    while "/" in path:
        path = path.rpartition("/")[0]
        with _parent(folder, path) as (opened, name):
            try:
                os.rmdir(name, dir_fd=opened)
            except OSError as exc:
                if exc.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                    return
                raise


@contextlib.contextmanager
def _parent(folder: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder a path ends in, opened, and the last name."""
    *folders, name = path.split("/")
    if {"", ".", ".."} & {*folders, name}:
        raise OSError(errno.EINVAL, "no path inside the folder", path)
    opened = os.open(folder, _FOLDER)
    try:
        for one in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(one, dir_fd=opened)
            inner = os.open(one, _FOLDER, dir_fd=opened)
            os.close(opened)
            opened = inner
        yield opened, name
    finally:
        os.close(opened)
