"""Changed files between two trees, for people: recognizes renames and counts lines."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.domain.diff_view import ChangeKind, FileDiff, FileVersion
from bot.git.command import TIMED_OUT, GitFailed, git_bytes

_TIMEOUT_SECONDS = 20.0
_MAX_RENAMES = 200
"""Files on each side that git compares to find renames: it compares every pair."""
_KINDS = {b"A": ChangeKind.ADDED, b"D": ChangeKind.REMOVED, b"R": ChangeKind.RENAMED}
_OPTIONS = ("-r", "-z", "--no-ext-diff", "--no-textconv", f"-l{_MAX_RENAMES}", "-M")


def changed_files(repository: Path, old: str, new: str) -> tuple[FileDiff, ...]:
    """Returns the files sorted by path; line counts are 0 if counting takes too long."""
    raw = git_bytes(repository, "diff-tree", *_OPTIONS, "--raw", old, new, timeout=_TIMEOUT_SECONDS)
    try:
        counted = git_bytes(repository, "diff-tree", *_OPTIONS, "--numstat", old, new, timeout=_TIMEOUT_SECONDS)
    except GitFailed as problem:
        if problem.code != TIMED_OUT:
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
    """Yields line counts by new path. For a renamed file both paths follow as separate words."""
    at = 0
    while at < len(words):
        added, removed, path = words[at].split(b"\t", 2)
        if not path:
            path, at = words[at + 2], at + 2
        yield path, (added, removed)
        at += 1


def _file(facts: bytes, paths: tuple[bytes, ...], counts: Mapping[bytes, tuple[bytes, bytes]]) -> FileDiff:
    old_mode, new_mode, old_sha, new_sha, status = facts.removeprefix(b":").split(b" ")
    added, removed = counts.get(paths[-1], (b"0", b"0"))
    return FileDiff(
        _KINDS.get(status[:1], ChangeKind.CHANGED),
        _version(paths[0], old_mode, old_sha),
        _version(paths[-1], new_mode, new_sha),
        int(added) if added.isdigit() else 0,
        int(removed) if removed.isdigit() else 0,
        is_binary=added == b"-",
    )


def _version(path: bytes, mode: bytes, sha: bytes) -> FileVersion | None:
    number = int(mode, 8)
    return FileVersion(path.decode(errors="surrogateescape"), number, sha.decode()) if number else None
