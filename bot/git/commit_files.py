"""The files of one commit, by name, and the text of few of them. Read out of the mirror."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bot.git.command import GitFailed, git_bytes

_MOST_BYTES = 8 * 1024 * 1024
_FILES = {b"100644", b"100755"}


@dataclass(frozen=True, slots=True)
class Committed:
    names: tuple[str, ...]
    """Seen from the top."""
    read: Callable[[str], str]
    """The text of a file; of what is none, or too large, nothing."""


def committed(repository: Path, commit: str) -> Committed:
    found: dict[str, tuple[str, int]] = {}
    names: list[str] = []
    for line in git_bytes(repository, "ls-tree", "-r", "-z", "--long", "--full-tree", commit).split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, sha, size = facts.split()
        names.append(name.decode(errors="surrogateescape"))
        if mode in _FILES:
            found[names[-1]] = sha.decode(), int(size)

    def read(name: str) -> str:
        sha, size = found.get(name, ("", 0))
        if not sha or size > _MOST_BYTES:
            return ""
        return git_bytes(repository, "cat-file", "blob", sha).decode(errors="replace")

    return Committed(tuple(names), read)


def find_commit(repository: Path, *names: str) -> str:
    """The first of these that there is; empty: none."""
    for name in names:
        try:
            return git_bytes(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()
        except GitFailed:
            continue
    return ""
