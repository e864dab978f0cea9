"""What is in a tree that no other known one has, byte for byte as git keeps it: no renames guessed, nothing decoded."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bot.git.command import git_bytes
from bot.git.index import LINK, SUBMODULE

BATCH_BYTES = 32_000_000
"""So much content is held in memory at once, unless a single file is larger."""


class Item(NamedTuple):
    """What lies at a path."""

    mode: int
    sha: str


@dataclass(frozen=True, slots=True)
class Difference:
    path: bytes
    now: Item | None
    """None: nothing any more."""
    before: tuple[Item, ...]
    """What the known trees have there, where they have anything."""

    @property
    def is_new(self) -> bool:
        return not self.before

    @property
    def versions(self) -> tuple[Item, ...]:
        return (self.now, *self.before) if self.now else self.before

    @property
    def is_file(self) -> bool:
        """It has content of its own."""
        return self.now is not None and self.now.mode not in {LINK, SUBMODULE}


def differences(mirror: Path, tree: str, known: Sequence[str]) -> tuple[Difference, ...]:
    """An entry that any of the known trees has as well is none; neither is the lack of one that any of them lacks."""
    found = [_raw(mirror, one, tree) for one in dict.fromkeys(known)]
    paths = sorted(set.intersection(*map(set, found)))
    return tuple(_difference(path, [changes[path] for changes in found]) for path in paths)


def _difference(path: bytes, changes: Sequence[tuple[Item | None, Item | None]]) -> Difference:
    return Difference(path, changes[0][1], tuple(dict.fromkeys(old for old, _ in changes if old)))


def _raw(mirror: Path, old: str, new: str) -> dict[bytes, tuple[Item | None, Item | None]]:
    """https://git-scm.com/docs/git-diff-tree#_raw_output_format"""
    words = git_bytes(mirror, "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split(b"\0")[:-1]
    found = {}
    for facts, path in zip(words[::2], words[1::2], strict=True):
        old_mode, new_mode, old_sha, new_sha, _ = facts.removeprefix(b":").split(b" ")
        found[path] = (_item(old_mode, old_sha), _item(new_mode, new_sha))
    return found


def _item(mode: bytes, sha: bytes) -> Item | None:
    return Item(int(mode, 8), sha.decode()) if int(mode, 8) else None


def sizes(mirror: Path, shas: Collection[str]) -> Mapping[str, int]:
    listing = git_bytes(mirror, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(shas))
    return {sha.decode(): int(size) for sha, size in (line.split(b" ") for line in listing.splitlines())}


def contents(mirror: Path, shas: Collection[str]) -> Mapping[str, bytes]:
    """https://git-scm.com/docs/git-cat-file#_batch_output"""
    output, at, found = git_bytes(mirror, "cat-file", "--batch", stdin=_lines(shas)), 0, {}
    for sha in shas:
        begin = output.index(b"\n", at) + 1
        size = int(output[at:begin].split(b" ")[2])
        found[sha] = output[begin : begin + size]
        at = begin + size + 1
    return found


def batches(found: Sequence[Difference], known: Mapping[str, int]) -> Iterator[list[Difference]]:
    """So much as can be held in memory at once, by the sizes of its content."""
    batch: list[Difference] = []
    held = 0
    for one in found:
        weight = sum(known.get(item.sha, 0) for item in one.versions)
        if batch and held + weight > BATCH_BYTES:
            yield batch
            batch, held = [], 0
        batch.append(one)
        held += weight
    if batch:
        yield batch


def _lines(shas: Collection[str]) -> bytes:
    return "".join(f"{sha}\n" for sha in shas).encode()
