"""Reads, writes and removes single files in an untrusted folder without following links."""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from bot.publish_guard.size_limits import MAX_FILE_BYTES
from bot.workspace.capture import read_file

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_within(folder: Path, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """Returns a regular file's content. Raises OSError for anything else, or a link on the way."""
    with _parent(folder, path) as (opened, name):
        return read_file(os.fsencode(name), dir_fd=opened, limit=limit)[0]


def status_within(folder: Path, path: str) -> os.stat_result:
    """Status of the path itself, also of a link."""
    with _parent(folder, path) as (opened, name):
        return os.stat(name, dir_fd=opened, follow_symlinks=False)


def open_within(folder: Path, path: str) -> BinaryIO:
    """Opens a file to read it; it may be no regular one."""
    with _parent(folder, path) as (opened, name):
        return os.fdopen(os.open(name, _FILE, dir_fd=opened), "rb")


def write_within(folder: Path, path: str, content: bytes, *, mode: int = 0o600) -> None:
    """Replaces what was there. Only while nothing runs in the folder."""
    _replace_within(folder, path, BytesIO(content), mode=mode)


def copy_within(folder: Path, path: str, source: Path, *, mode: int, age: float) -> None:
    """Replaces what was there by a copy that counts as changed so many seconds ago. Only while nothing runs there."""
    with source.open("rb") as stream:
        _replace_within(folder, path, stream, mode=mode, age=age)


def _replace_within(folder: Path, path: str, content: BinaryIO, *, mode: int, age: float = 0) -> None:
    with _parent(folder, path, make=True) as (opened, name):
        fresh = f".{uuid.uuid4().hex}"
        descriptor = os.open(fresh, _NEW, mode, dir_fd=opened)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                os.fchmod(descriptor, mode)  # independent of the umask
                shutil.copyfileobj(content, stream)
                stream.flush()
                if age:
                    changed = os.fstat(descriptor).st_mtime - age
                    os.utime(descriptor, (changed, changed))
            os.rename(fresh, name, src_dir_fd=opened, dst_dir_fd=opened)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh, dir_fd=opened)
            raise


def link_within(folder: Path, path: str, target: bytes) -> None:
    """Replaces what was there by a symbolic link. Only while nothing runs in the folder."""
    with _parent(folder, path, make=True) as (opened, name):
        fresh = f".{uuid.uuid4().hex}"
        os.symlink(target, os.fsencode(fresh), dir_fd=opened)
        try:
            os.rename(fresh, name, src_dir_fd=opened, dst_dir_fd=opened)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh, dir_fd=opened)
            raise


def remove_within(folder: Path, path: str) -> None:
    """Removes a file and the folders that become empty."""
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
    """Yields the opened parent folder and the last name of a path."""
    *folders, name = path.split("/")
    if {"", ".", ".."} & {*folders, name}:
        raise OSError(errno.EINVAL, "not a path inside the folder", path)
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
