"""Reads and writes git's index: what git, and we, last knew of every tracked file.

Rule: the file format as git documents it (version 2, extensions ignored), in bytes, so that any file name survives.
https://git-scm.com/docs/index-format
"""

import hashlib
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

FILE, PROGRAM, LINK, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o160000

_HEADER = struct.Struct(">4sLL")
_STAMP = struct.Struct(">10L")
_ENTRY = struct.Struct(">40s20sH")
_LONGEST_NAME = 0xFFF
_EXTENDED = 0x4000
_STAGE = 0x3000
_WORD = 0xFFFFFFFF
_SECOND = 1_000_000_000


class Entry(NamedTuple):
    stamp: bytes
    """Times, inode, mode, owner and size, packed the way git keeps them: the same stamp means an untouched file."""
    sha: bytes

    @property
    def mode(self) -> int:
        return int.from_bytes(self.stamp[24:28], "big")

    @property
    def changed_at(self) -> int:
        """In nanoseconds."""
        return int.from_bytes(self.stamp[8:12], "big") * _SECOND + int.from_bytes(self.stamp[12:16], "big")


@dataclass(frozen=True, slots=True)
class Index:
    entries: Mapping[bytes, Entry] = field(default_factory=dict)
    written_at: int = 0
    """In nanoseconds. A file changed later, or in the same moment, may have changed unnoticed."""

    def vouches_for(self, entry: Entry, stamp: bytes) -> bool:
        return entry.stamp == stamp and entry.changed_at < self.written_at


class NotAnIndex(ValueError):
    """This file cannot be relied on."""


def stamp_of(status: os.stat_result, mode: int) -> bytes:
    return _STAMP.pack(
        status.st_ctime_ns // _SECOND & _WORD,
        status.st_ctime_ns % _SECOND,
        status.st_mtime_ns // _SECOND & _WORD,
        status.st_mtime_ns % _SECOND,
        status.st_dev & _WORD,
        status.st_ino & _WORD,
        mode,
        status.st_uid & _WORD,
        status.st_gid & _WORD,
        status.st_size & _WORD,
    )


def unknown_stamp(mode: int) -> bytes:
    """Equal to no file's."""
    return _STAMP.pack(0, 0, 0, 0, 0, 0, mode, 0, 0, 0)


def mode_of(status: os.stat_result) -> int:
    """As git would record it; 0: nothing git can hold."""
    if stat.S_ISLNK(status.st_mode):
        return LINK
    if stat.S_ISREG(status.st_mode):
        return PROGRAM if status.st_mode & stat.S_IXUSR else FILE
    return 0


def read_index(path: Path) -> Index:
    try:
        data, written_at = path.read_bytes(), path.stat().st_mtime_ns
        return Index(_parse_entries(data), written_at)
    except (OSError, struct.error, ValueError) as exc:
        raise NotAnIndex(f"{path}: {exc}") from exc


def _parse_entries(data: bytes) -> dict[bytes, Entry]:
    signature, version, count = _HEADER.unpack_from(data)
    if (signature, version) != (b"DIRC", 2) or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]:
        raise NotAnIndex("damaged, or of an unknown version")
    entries: dict[bytes, Entry] = {}
    at = _HEADER.size
    for _ in range(count):
        stamp, sha, flags = _ENTRY.unpack_from(data, at)
        if flags & (_EXTENDED | _STAGE):
            raise NotAnIndex("in the middle of a merge")
        start = at + _ENTRY.size
        end = data.index(0, start)
        entries[data[start:end]] = Entry(stamp, sha)
        at += _padded(end - at)
    return entries


def write_index(path: Path, entries: Mapping[bytes, Entry]) -> None:
    parts = [_HEADER.pack(b"DIRC", 2, len(entries))]
    for name in sorted(entries):
        entry = entries[name]
        size = _ENTRY.size + len(name)
        flags = min(len(name), _LONGEST_NAME)
        parts.append(_ENTRY.pack(entry.stamp, entry.sha, flags) + name + bytes(_padded(size) - size))
    data = b"".join(parts)
    path.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


def _padded(size: int) -> int:
    """Each entry ends in one to eight zeros, at a multiple of eight."""
    return size // 8 * 8 + 8
