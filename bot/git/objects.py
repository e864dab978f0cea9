"""Writes files and commits into a repository's object database with GitPython's gitdb, without starting git.

Rule: only into a repository that the host alone touches. The index and the trees made of it are git's own work.
"""

import hashlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from gitdb import IStream  # type: ignore[import-untyped]
from gitdb.db import LooseObjectDB  # type: ignore[import-untyped]

from bot.git.command import git
from bot.git.index import Index, IndexEntry, write_index

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Every git knows this tree, stored or not."""


class BlobStore:
    """Stores the content of files, unless it is committed already."""

    def __init__(self, repository: Path, committed: Index) -> None:
        self._loose = LooseObjectDB(str(repository / "objects"))
        self._committed = frozenset(entry.sha for entry in committed.entries.values())

    def store(self, content: bytes) -> bytes:
        """Returns the object id once the content is on the disk."""
        sha = blob_id(content)
        if sha not in self._committed:
            self._loose.store(IStream(b"blob", len(content), BytesIO(content)))
        return sha


def store_object(repository: Path, kind: str, content: bytes) -> str:
    """Returns the object id once a `blob`, `tree` or `commit` is on the disk."""
    loose = LooseObjectDB(str(repository / "objects"))
    sha = str(loose.store(IStream(kind.encode(), len(content), BytesIO(content))).hexsha.decode())
    (repository / "objects" / sha[:2]).chmod(0o755)  # agents of other user ids read the mirror's objects
    return sha


def blob_id(content: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()


def write_tree(repository: Path, entries: Mapping[bytes, IndexEntry], index: Path) -> str:
    """Returns the tree's id. The index file stays; the caller uses or deletes it."""
    write_index(index, entries)
    return git(repository, "write-tree", env={"GIT_INDEX_FILE": str(index)})
