"""Unpacks compressed data inside a file for the secret scan, found by signature: no archive index is trusted.

Rule: bounded by one budget for everything that is searched together, and what was not looked into is told: a part is
never silently passed over.
"""

import bz2
import contextlib
import lzma
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.secret_scan.encodings import decode_runs

MAX_UNPACKED_BYTES = 20_000_000
"""Unpacked content of one file that is searched."""
NESTING_LIMIT = 2
_SIGNATURE = re.compile(rb"\x1f\x8b\x08|PK\x03\x04|\x78[\x01\x5e\x9c\xda]|BZh[1-9]|\xfd7zXZ\0")
_FIRST_CHUNK, _CHUNK = 1024, 65536
"""Bytes read at once: few at first, because most signatures begin nothing."""
_ZIP_HEADER = 30
"""Bytes of a zip member's header, before its name."""
_LZMA_MEMORY = 200_000_000


@dataclass(slots=True)
class UnpackBudget:
    """Limits the work of unpacking. All files of a capture share one."""

    attempts: int = 200_000
    """Number of signatures that may still be tried. Most of them are there by chance."""
    bytes: int = 100_000_000
    """Number of bytes that may still be read and unpacked."""

    @property
    def is_spent(self) -> bool:
        return self.attempts <= 0 or self.bytes <= 0


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


@dataclass(slots=True)
class Unpacking:
    """Yields a file's layers: the content, then what is compressed or encoded in it, then what is inside that."""

    content: bytes
    budget: UnpackBudget
    is_complete: bool = True
    """False after a part that the budget did not suffice for."""
    left: int = MAX_UNPACKED_BYTES

    def layers(self) -> Iterator[bytes]:
        level: Sequence[bytes] = [self.content]
        yield self.content
        for _ in range(NESTING_LIMIT):
            inner: list[bytes] = []
            for outer in level:
                for found in self._parts(outer):
                    inner.append(found)
                    yield found
            level = inner

    def _parts(self, outer: bytes) -> Iterator[bytes]:
        for match in _SIGNATURE.finditer(outer):
            if self.left <= 0 or self.budget.is_spent:
                self.is_complete = False
                return
            self.budget.attempts -= 1
            if found := self._unpack(outer, match):
                yield found
        decoded = decode_runs(outer)
        if decoded and len(decoded) > min(self.left, self.budget.bytes):
            self.is_complete = False
        elif decoded:
            self._spend(len(decoded), len(decoded))
            yield decoded

    def _unpack(self, outer: bytes, match: re.Match[bytes]) -> bytes:
        """Returns as much as can be unpacked; checksums are ignored."""
        start, found = match.start(), bytearray()
        if match.group() == b"PK\x03\x04":
            start += _ZIP_HEADER + sum(int.from_bytes(outer[start + at : start + at + 2], "little") for at in (26, 28))
        elif match.group()[:1] == b"\x78":
            start += 2
        with contextlib.suppress(zlib.error, lzma.LZMAError, OSError, EOFError):
            for part, read in _pieces(outer, start, match.group()):
                self._spend(len(part), len(part) + read)
                found += part
                if self.left <= 0 or self.budget.bytes <= 0:
                    self.is_complete = False
                    break
        return bytes(found)

    def _spend(self, unpacked: int, worked: int) -> None:
        self.left -= unpacked
        self.budget.bytes -= worked


def _pieces(outer: bytes, start: int, mark: bytes) -> Iterator[tuple[bytes, int]]:
    """Yields the bytes to be read next, before they are, and then what was unpacked of them, in small pieces.

    In small pieces, because an error discards all that a call has unpacked until then.
    """
    unpacker, size = _unpacker_for(mark), _FIRST_CHUNK
    while start < len(outer) and not unpacker.eof:
        data = outer[start : start + size]
        yield b"", len(data)
        start, size = start + size, min(2 * size, _CHUNK)
        part = b"more"
        while part and not unpacker.eof:
            part = unpacker.decompress(data, size)
            data = getattr(unpacker, "unconsumed_tail", b"")
            yield part, 0


def _unpacker_for(mark: bytes) -> _Unpacker:
    match mark[:2]:
        case b"\x1f\x8b":
            return zlib.decompressobj(31)
        case b"BZ":
            return bz2.BZ2Decompressor()
        case b"\xfd7":
            return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)
        case _:
            return zlib.decompressobj(-15)
