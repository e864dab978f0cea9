"""Lists the files of a commit with their sizes and reads few of them, from the mirror."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bot.git.blobs import blob_sizes
from bot.git.command import GitFailed, git_bytes
from bot.git.index import FILE, LINK, PROGRAM, Index, IndexEntry, unknown_stamp

REGULAR_FILES = frozenset({FILE, PROGRAM})

_MAX_FILE_BYTES = 8 * 1024 * 1024
_BLOB = b"blob"


class CommittedBlob(NamedTuple):
    """A file or symbolic link of a commit."""

    path: bytes
    mode: int
    sha: str
    size: int

    @property
    def is_link(self) -> bool:
        return self.mode == LINK


@dataclass(frozen=True, slots=True)
class CommitFiles:
    names: tuple[str, ...]
    """Paths from the top of the repository."""
    read: Callable[[str], str]
    """Returns a file's text; empty if the path is no regular file, or the file is too large."""


def read_commit_files(repository: Path, commit: str) -> CommitFiles:
    names: list[str] = []
    files: dict[str, str] = {}
    for path, mode, kind, sha in _list_tree(repository, "-r", commit):
        names.append(path.decode(errors="surrogateescape"))
        if mode in REGULAR_FILES and kind == _BLOB:
            files[names[-1]] = sha

    def read(name: str) -> str:
        sha = files.get(name, "")
        if not sha or _size_of(repository, sha) > _MAX_FILE_BYTES:
            return ""
        return read_blob(repository, sha).decode(errors="replace")

    return CommitFiles(tuple(names), read)


def find_blob(repository: Path, commit: str, path: str) -> CommittedBlob | None:
    """Returns None if the commit has no file or link at exactly this path."""
    name = path.encode(errors="replace")
    for found, mode, kind, sha in _list_tree(repository, "--end-of-options", commit, path):
        if kind == _BLOB and found == name:
            return CommittedBlob(found, mode, sha, _size_of(repository, sha))
    return None


def read_blob(repository: Path, sha: str) -> bytes:
    return git_bytes(repository, "cat-file", "blob", sha)


def resolve_commit(repository: Path, *names: str) -> str:
    """Returns the id of the first name that is a commit; empty if none is."""
    for name in names:
        try:
            return git_bytes(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()
        except GitFailed:
            continue
    return ""


def index_of_commit(repository: Path, commit: str) -> Index:
    """An index of a commit's entries, for when no file's time and size are known."""
    listing = git_bytes(repository, "ls-tree", "-r", "-z", "--full-tree", commit)
    entries = {}
    for line in listing.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, sha = facts.split(b" ")
        entries[path] = IndexEntry(unknown_stamp(int(mode, 8)), bytes.fromhex(sha.decode()))
    return Index(entries)


def _list_tree(repository: Path, *args: str) -> Iterator[tuple[bytes, int, bytes, str]]:
    """Path, mode, kind and object id of each entry: https://git-scm.com/docs/git-ls-tree#_output_format

    Without sizes: a partial clone would download each file for its size.
    """
    listing = git_bytes(repository, "ls-tree", "-z", "--full-tree", *args)
    for line in listing.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, kind, sha = facts.split()
        yield path, int(mode, 8), kind, sha.decode()


def _size_of(repository: Path, sha: str) -> int:
    return blob_sizes(repository, {sha})[sha]
