"""Reads sizes and content of many blobs with one git process."""

from collections.abc import Collection, Mapping
from pathlib import Path

from bot.git.command import RepositoryDamaged, git_bytes

_MISSING = b"missing"


def blob_sizes(repository: Path, shas: Collection[str]) -> Mapping[str, int]:
    """Raises RepositoryDamaged if one is missing."""
    listing = git_bytes(repository, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(shas))
    return {sha.decode(): _size(sha, size) for sha, size in (line.split(b" ") for line in listing.splitlines())}


def blob_contents(repository: Path, shas: Collection[str]) -> Mapping[str, bytes]:
    """Raises RepositoryDamaged if one is missing. https://git-scm.com/docs/git-cat-file#_batch_output"""
    output, at, found = git_bytes(repository, "cat-file", "--batch", stdin=_lines(shas)), 0, {}
    for sha in shas:
        begin = output.index(b"\n", at) + 1
        size = _size(sha.encode(), output[at:begin].split()[-1])
        found[sha] = output[begin : begin + size]
        at = begin + size + 1
    return found


def _size(sha: bytes, answer: bytes) -> int:
    if answer == _MISSING:
        raise RepositoryDamaged(("cat-file",), 0, f"missing blob {sha.decode()}")
    return int(answer)


def _lines(shas: Collection[str]) -> bytes:
    return "".join(f"{sha}\n" for sha in shas).encode()
