"""What the host's own commands put into a worktree: never an agent's work. Kept beside the worktree, not in it.

Rule: a file that setup or verification made or changed counts as committed while it is just as they left it; one
that was copied from the operator is in no commit, whatever becomes of it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from bot.domain.serialize import as_record, from_record
from bot.git.index import Entry, Index, unknown_stamp
from bot.git.objects import hash_content
from bot.workspace.capture import Found, shown
from bot.workspace.safe_files import read_within

GONE = ""


@dataclass(frozen=True, slots=True)
class Provision:
    stamp: str = ""
    """Of what was done, and of the lock files it was done by; empty: nothing was yet."""
    made: Mapping[str, str] = field(default_factory=dict)
    """By path: mode and object id, as setup left it; GONE: setup removed it."""
    copied: Mapping[str, str] = field(default_factory=dict)
    """By path: the object id of the operator's file."""
    is_half: bool = False
    """Setup began where nobody had changed anything, and has not ended: the worktree is as good as gone."""
    is_ahead: bool = False
    """It was made ready before anybody wanted it, without what is the taker's own."""
    folders: tuple[str, ...] = ()
    """Of dependencies, as patterns of .gitignore."""
    tried: str = ""
    """The commit that verification began on, just as it was committed. What differs from it is verification's."""

    def without(self, found: Found, index: Index, folder: Path) -> Found:
        """What is left when this is taken away again."""
        entries = {path: entry for path, entry in found.entries.items() if not self._is_copied(path, index)}
        told = list(self._changed_copies(folder))
        for name, left in self.made.items():
            path = name.encode(errors="surrogateescape")
            if state_of(entries.get(path)) == left:
                told += [f"{shown(path)}: as setup or verification left it"]
                _put_back(entries, path, index)
        return replace(found, entries=entries, left_out=(*found.left_out, *told))

    def _changed_copies(self, folder: Path) -> Iterator[str]:
        """Of the operator's files, those that are not as they were copied."""
        for name, sha in self.copied.items():
            if _sha_of(folder, name) != sha:
                yield f"{shown(name.encode(errors='surrogateescape'))}: a copy of the operator's file, changed"

    def having_made(self, before: Mapping[bytes, str], after: Mapping[bytes, str], committed: Index) -> Self:
        """The difference is setup's, but for files that held somebody's work before."""
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        made = {
            path.decode(errors="surrogateescape"): after.get(path, GONE)
            for path in changed
            if before.get(path, GONE) == state_of(committed.entries.get(path))
        }
        return replace(self, made={**self.made, **made})

    def having_tried(self, after: "Survey") -> Self:
        before = {path: state_of(entry) for path, entry in after.committed.entries.items()}
        return self.having_made(before, after.holds, after.committed)

    def _is_copied(self, path: bytes, index: Index) -> bool:
        if path in index.entries:
            return False  # tracked by now: the repository's own
        name = path.decode(errors="surrogateescape")
        return any(name == copied or name.startswith(f"{copied}/") for copied in self.copied)


@dataclass(frozen=True, slots=True)
class Survey:
    """A worktree at one moment."""

    holds: Mapping[bytes, str]
    """By path: mode and object id."""
    committed: Index
    is_clean: bool
    """Nobody has changed anything since the last commit."""


def state_of(entry: Entry | None) -> str:
    return f"{entry.mode:o} {entry.sha.hex()}" if entry else GONE


def read_provision(admin: Path) -> Provision:
    try:
        return from_record(Provision, json.loads(_file(admin).read_text()))
    except (OSError, ValueError):
        return Provision()


def write_provision(admin: Path, provision: Provision) -> None:
    fresh = _file(admin).with_suffix(".new")
    fresh.write_text(json.dumps(as_record(provision)))
    fresh.replace(_file(admin))


def _file(admin: Path) -> Path:
    return admin / "provision.json"


def _put_back(entries: dict[bytes, Entry], path: bytes, index: Index) -> None:
    if known := index.entries.get(path):
        entries[path] = Entry(unknown_stamp(known.mode), known.sha)
    else:
        entries.pop(path, None)


def _sha_of(folder: Path, name: str) -> str:
    try:
        return hash_content(read_within(folder, name)).hex()
    except OSError:
        return ""
