"""Reads and writes git's index: the last known state of every tracked file.

Rule: the file format as git documents it (version 2, extensions ignored), in bytes, so that any file name survives.
https://git-scm.com/docs/index-format
"""

import hashlib
import os
import stat
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

FILE, PROGRAM, LINK, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o160000

_HEADER = struct.Struct(">4sLL")
_STAMP = struct.Struct(">10L")
_ENTRY = struct.Struct(">40s20sH")
_LONGEST_NAME = 0xFFF
_EXTENDED = 0x4000
_SKIPPED = b"\x40\x00"
"""Further flags of an entry that git takes for unchanged without a look (skip-worktree)."""
_STAGE = 0x3000
_WORD = 0xFFFFFFFF
_SECOND = 1_000_000_000


class IndexEntry(NamedTuple):
    stamp: bytes
    """Times, inode, mode, owner and size in git's format; an equal stamp means an unchanged file."""
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
    entries: Mapping[bytes, IndexEntry] = field(default_factory=dict)
    written_at: int = 0
    """In nanoseconds. A file changed at or after this moment must be read again."""

    def is_unchanged(self, entry: IndexEntry, stamp: bytes) -> bool:
        return entry.stamp == stamp and entry.changed_at < self.written_at


class UnreadableIndex(ValueError):
    """The index file is missing, damaged, or of an unknown version."""


def file_stamp(status: os.stat_result, mode: int) -> bytes:
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
    """A stamp that equals no file's."""
    return _STAMP.pack(0, 0, 0, 0, 0, 0, mode, 0, 0, 0)


def git_mode(status: os.stat_result) -> int:
    """Returns the mode git records; 0 for a file that git cannot store."""
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
        raise UnreadableIndex(f"{path}: {exc}") from exc


def _parse_entries(data: bytes) -> dict[bytes, IndexEntry]:
    signature, version, count = _HEADER.unpack_from(data)
    if (signature, version) != (b"DIRC", 2) or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]:
        raise UnreadableIndex("damaged, or of an unknown version")
    entries: dict[bytes, IndexEntry] = {}
    at = _HEADER.size
    for _ in range(count):
        stamp, sha, flags = _ENTRY.unpack_from(data, at)
        if flags & (_EXTENDED | _STAGE):
            raise UnreadableIndex("in the middle of a merge")
        start = at + _ENTRY.size
        end = data.index(0, start)
        entries[data[start:end]] = IndexEntry(stamp, sha)
        at += _padded(end - at)
    return entries


def write_index(path: Path, entries: Mapping[bytes, IndexEntry], *, skipped: Collection[bytes] = ()) -> None:
    """Git looks at the files of `skipped` no more (version 3, which `read_index` does not read)."""
    parts = [_HEADER.pack(b"DIRC", 3 if skipped else 2, len(entries))]
    for name in sorted(entries):
        entry, flags = entries[name], min(len(name), _LONGEST_NAME)
        head = _ENTRY.pack(entry.stamp, entry.sha, flags | _EXTENDED if name in skipped else flags)
        written = head + (_SKIPPED if name in skipped else b"") + name
        parts.append(written.ljust(_padded(len(written)), b"\0"))
    data = b"".join(parts)
    path.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


def _padded(size: int) -> int:
    """Each entry is padded with one to eight zeros to a multiple of eight."""
    return size // 8 * 8 + 8
