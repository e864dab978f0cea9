"""Puts content, trees and commits into the mirror without any repository but the mirror being looked at."""

import hashlib
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from gitdb import IStream  # type: ignore[import-untyped]
from gitdb.db import LooseObjectDB  # type: ignore[import-untyped]

from bot.git.command import git, git_bytes
from bot.git.index import Entry, Index, unknown_stamp, write_index

_WHO = ("Treehand", "treehand@localhost")


class Objects:
    """Where the content of files goes. What is committed already is not stored again."""

    def __init__(self, mirror: Path, committed: Index) -> None:
        self._loose = LooseObjectDB(str(mirror / "objects"))
        self._committed = frozenset(entry.sha for entry in committed.entries.values())

    def keep(self, content: bytes) -> bytes:
        """The content's id, now that it is safe."""
        sha = hash_content(content)
        if sha not in self._committed:
            self._loose.store(IStream(b"blob", len(content), BytesIO(content)))
        return sha


def hash_content(content: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()


def write_tree(mirror: Path, entries: Mapping[bytes, Entry], index: Path) -> str:
    """The tree's id. The index file stays, for the caller to use or to drop."""
    write_index(index, entries)
    return git(mirror, "write-tree", env={"GIT_INDEX_FILE": str(index)})


def write_commit(mirror: Path, tree: str, *, parents: Sequence[str], message: str, at: float) -> str:
    """Author, committer and date are fixed, so that the same content at the same time is the same commit."""
    name, email = _WHO
    stamp = f"@{int(at)} +0000"
    env = {
        "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": stamp,
        "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email, "GIT_COMMITTER_DATE": stamp,
    }  # fmt: skip
    text = message.replace("\0", "").strip().encode(errors="replace") + b"\n"
    onto = [word for parent in parents for word in ("-p", parent)]
    return git(mirror, "commit-tree", tree, *onto, env=env, stdin=text)


def index_of(mirror: Path, commit: str) -> Index:
    """What is committed, when nothing is known of the files."""
    listing = git_bytes(mirror, "ls-tree", "-r", "-z", "--full-tree", commit)
    entries = {}
    for line in listing.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, sha = facts.split(b" ")
        entries[name] = Entry(unknown_stamp(int(mode, 8)), bytes.fromhex(sha.decode()))
    return Index(entries)
