"""What is packed inside a file, found by the marks that packed data begins with: no table of contents is trusted.

Rule: bounded. What unpacks to more than is allowed is looked at as far as that goes.
"""

import bz2
import contextlib
import lzma
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from bot.secret_scan.encodings import decoded

MOST_BYTES = 20_000_000
DEPTH = 2
_MOST_TRIES = 2000
_START = re.compile(rb"\x1f\x8b\x08|PK\x03\x04|\x78[\x01\x5e\x9c\xda]|BZh[1-9]|\xfd7zXZ\0")
_PIECE = 65536
_STORED_IN_ZIP = 30
"""Bytes of a zip member's own header, before its name."""


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    def decompress(self, data: memoryview, max_length: int, /) -> bytes: ...


def layers_of(content: bytes) -> Iterator[bytes]:
    """The content itself, what is packed or encoded in it, and what is in that."""
    left = MOST_BYTES
    level: Sequence[bytes] = [content]
    yield content
    for _ in range(DEPTH):
        inner: list[bytes] = []
        for outer in level:
            for found in _inside(outer, left):
                left -= len(found)
                inner.append(found)
                yield found
        level = inner


def _inside(outer: bytes, most: int) -> Iterator[bytes]:
    """In all at most so many bytes."""
    for number, match in enumerate(_START.finditer(outer)):
        if most <= 0 or number >= _MOST_TRIES:
            break
        if found := _unpacked(outer, match, most):
            most -= len(found)
            yield found
    if most > 0 and (found := decoded(outer)[:most]):
        yield found


def _unpacked(outer: bytes, match: re.Match[bytes], most: int) -> bytes:
    """As much of it as is whole. Checksums are nobody's business here."""
    start, found = match.start(), bytearray()
    if match.group() == b"PK\x03\x04":
        start += _STORED_IN_ZIP + sum(int.from_bytes(outer[start + at : start + at + 2], "little") for at in (26, 28))
    elif match.group()[:1] == b"\x78":
        start += 2
    unpacker, packed = _unpacker_for(match.group()), memoryview(outer)
    with contextlib.suppress(zlib.error, lzma.LZMAError, OSError, EOFError):
        for at in range(start, len(outer), _PIECE):  # whole, each try would copy the rest of the file
            found += unpacker.decompress(packed[at : at + _PIECE], most - len(found))
            if unpacker.eof or len(found) >= most:
                break
    return bytes(found)


def _unpacker_for(mark: bytes) -> _Unpacker:
    match mark[:2]:
        case b"\x1f\x8b":
            return zlib.decompressobj(31)
        case b"BZ":
            return bz2.BZ2Decompressor()
        case b"\xfd7":
            return lzma.LZMADecompressor()
        case _:
            return zlib.decompressobj(-15)
