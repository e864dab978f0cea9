"""Which files differ between two trees, for people: renames recognised, lines counted."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.domain.diff_view import Fate, SeenFile, Version
from bot.git.command import GitFailed, git_bytes

_SECONDS = 20.0
_MOST_RENAMES = 200
"""So many on each side: guessing compares all with all."""
_FATES = {b"A": Fate.ADDED, b"D": Fate.REMOVED, b"R": Fate.RENAMED}
_HOW = ("-r", "-z", "--no-ext-diff", "--no-textconv", f"-l{_MOST_RENAMES}", "-M")


def changed_files(repository: Path, old: str, new: str) -> tuple[SeenFile, ...]:
    """Sorted by path. Where counting takes too long nothing is counted."""
    raw = git_bytes(repository, "diff-tree", *_HOW, "--raw", old, new, timeout=_SECONDS)
    try:
        counted = git_bytes(repository, "diff-tree", *_HOW, "--numstat", old, new, timeout=_SECONDS)
    except GitFailed as problem:
        if problem.code != -1:
            raise
        counted = b""
    counts = dict(_counts(counted.split(b"\0")[:-1]))
    found = [_file(facts, paths, counts) for facts, paths in _records(raw.split(b"\0")[:-1])]
    return tuple(sorted(found, key=lambda file: file.path))


def _records(words: list[bytes]) -> Iterator[tuple[bytes, tuple[bytes, ...]]]:
    """https://git-scm.com/docs/git-diff-tree#_raw_output_format"""
    at = 0
    while at < len(words):
        facts = words[at]
        length = 2 if facts.rpartition(b" ")[2][:1] == b"R" else 1
        yield facts, tuple(words[at + 1 : at + 1 + length])
        at += 1 + length


def _counts(words: list[bytes]) -> Iterator[tuple[bytes, tuple[bytes, bytes]]]:
    """By the new path: of a renamed file both paths follow as words of their own."""
    at = 0
    while at < len(words):
        added, removed, path = words[at].split(b"\t", 2)
        if not path:
            path, at = words[at + 2], at + 2
        yield path, (added, removed)
        at += 1


def _file(facts: bytes, paths: tuple[bytes, ...], counts: Mapping[bytes, tuple[bytes, bytes]]) -> SeenFile:
    old_mode, new_mode, old_sha, new_sha, status = facts.removeprefix(b":").split(b" ")
    added, removed = counts.get(paths[-1], (b"0", b"0"))
    return SeenFile(
        _FATES.get(status[:1], Fate.CHANGED),
        _version(paths[0], old_mode, old_sha),
        _version(paths[-1], new_mode, new_sha),
        int(added) if added.isdigit() else 0,
        int(removed) if removed.isdigit() else 0,
        is_binary=added == b"-",
    )


def _version(path: bytes, mode: bytes, sha: bytes) -> Version | None:
    number = int(mode, 8)
    return Version(path.decode(errors="surrogateescape"), number, sha.decode()) if number else None
