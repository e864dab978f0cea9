"""Differences of a tree from all known trees, in raw bytes without rename detection."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bot.git.command import git_bytes
from bot.git.index import LINK, SUBMODULE

BATCH_BYTES = 32_000_000
"""Most content held in memory at once, unless a single file is larger."""


class TreeItem(NamedTuple):
    """Mode and object id of a path."""

    mode: int
    sha: str


@dataclass(frozen=True, slots=True)
class TreeDifference:
    path: bytes
    now: TreeItem | None
    """Missing if the path was removed."""
    before: tuple[TreeItem, ...]
    """The path's items in the known trees."""

    @property
    def is_new(self) -> bool:
        return not self.before

    @property
    def versions(self) -> tuple[TreeItem, ...]:
        return (self.now, *self.before) if self.now else self.before

    @property
    def is_file(self) -> bool:
        """It is a regular file."""
        return self.now is not None and self.now.mode not in {LINK, SUBMODULE}


def diff_trees(mirror: Path, tree: str, known: Sequence[str]) -> tuple[TreeDifference, ...]:
    """Returns paths that differ from every known tree."""
    found = [_raw_diff(mirror, one, tree) for one in dict.fromkeys(known)]
    paths = sorted(set.intersection(*map(set, found)))
    return tuple(_difference(path, [changes[path] for changes in found]) for path in paths)


def _difference(path: bytes, changes: Sequence[tuple[TreeItem | None, TreeItem | None]]) -> TreeDifference:
    return TreeDifference(path, changes[0][1], tuple(dict.fromkeys(old for old, _ in changes if old)))


def _raw_diff(mirror: Path, old: str, new: str) -> dict[bytes, tuple[TreeItem | None, TreeItem | None]]:
    """https://git-scm.com/docs/git-diff-tree#_raw_output_format"""
    words = git_bytes(mirror, "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split(b"\0")[:-1]
    found = {}
    for facts, path in zip(words[::2], words[1::2], strict=True):
        old_mode, new_mode, old_sha, new_sha, _ = facts.removeprefix(b":").split(b" ")
        found[path] = (_item(old_mode, old_sha), _item(new_mode, new_sha))
    return found


def _item(mode: bytes, sha: bytes) -> TreeItem | None:
    return TreeItem(int(mode, 8), sha.decode()) if int(mode, 8) else None


def batches(found: Sequence[TreeDifference], known: Mapping[str, int]) -> Iterator[list[TreeDifference]]:
    """Splits differences into batches that fit in memory."""
    batch: list[TreeDifference] = []
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
