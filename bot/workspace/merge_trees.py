"""Merges two commits without a worktree: the files, and the conflicts in git's words.

https://git-scm.com/docs/git-merge-tree
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git, git_bytes
from bot.git.commit import write_commit
from bot.text.invisible_characters import printable_path

_EXIT_CONFLICT = 1


class MergedTree(NamedTuple):
    """The merged files; where both sides changed the same lines, with conflict markers."""

    tree: str
    paths: tuple[str, ...] = ()
    """Files with conflicts; any bytes survive a round trip."""
    conflicts: tuple[str, ...] = ()
    """Git's messages about the conflicts."""


def merge_trees(repository: Path, ours: str, theirs: str, names: Mapping[str, str]) -> MergedTree:
    """`names`: what git's messages call a commit."""
    words = _merge_tree(repository, ours, theirs)
    tree, *facts = list(_until_empty(words))
    return MergedTree(
        tree=tree.decode(),
        paths=tuple(sorted({_path_in(fact) for fact in facts})),
        conflicts=tuple(_conflict_text(text, names) for kind, text in _messages(words) if kind.startswith(b"CONFLICT")),
    )


def merge_onto(repository: Path, base: str, ours: str, theirs: str, names: Mapping[str, str]) -> MergedTree:
    """Puts the changes from `base` to `ours` onto `theirs`, wherever the histories of the three part."""
    sides = {
        side: write_commit(
            repository,
            git(repository, "rev-parse", f"{side}^{{tree}}"),
            parents=(base,),
            message=side,
            at=0,
        )
        for side in (ours, theirs)
    }
    called = {sides[side]: name for side, name in names.items() if side in sides}
    return merge_trees(repository, sides[ours], sides[theirs], called)


def _merge_tree(repository: Path, ours: str, theirs: str) -> Iterator[bytes]:
    """Yields git's output, word by word: https://git-scm.com/docs/git-merge-tree#OUTPUT"""
    try:
        output = git_bytes(repository, "merge-tree", "--write-tree", "-z", ours, theirs)
    except GitFailed as exc:
        if "unrelated histories" in exc.stderr:
            raise NeedsHuman("The two branches have no commit in common, so they cannot be merged.") from exc
        if exc.code != _EXIT_CONFLICT:
            raise
        output = exc.stdout
    return iter(output.split(b"\0"))


def _until_empty(words: Iterator[bytes]) -> Iterator[bytes]:
    for word in words:
        if not word:
            return
        yield word


def _messages(words: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yields the kind and text of each message."""
    for count in _until_empty(words):
        for _ in range(int(count)):
            next(words)
        yield next(words), next(words)


def _path_in(fact: bytes) -> str:
    return fact.partition(b"\t")[2].decode(errors="surrogateescape")


def _conflict_text(text: bytes, names: Mapping[str, str]) -> str:
    words = printable_path(text.rstrip(b"\n"))
    for commit, name in names.items():
        words = words.replace(f" {commit}", f" {name}")
    return words
