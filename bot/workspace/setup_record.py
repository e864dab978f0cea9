"""Setup record: the files that setup and servers made in a worktree, which are not the agent's work.

Rule: such a file counts as committed while it is unchanged; a file copied from the operator is never committed.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from bot.domain.serialize import as_record, from_record
from bot.git.index import Index, IndexEntry, unknown_stamp
from bot.git.objects import blob_id
from bot.text.invisible_characters import printable_path
from bot.workspace.capture import WorktreeContents
from bot.workspace.safe_files import read_within

REMOVED = ""


@dataclass(frozen=True, slots=True)
class SetupRecord:
    stamp: str = ""
    """Hash of the setup steps and lock files; empty before setup."""
    made: Mapping[str, str] = field(default_factory=dict)
    """Mode and object id that setup left, by path; REMOVED if setup removed the file."""
    copied: Mapping[str, str] = field(default_factory=dict)
    """Object id of the operator's file, by path."""
    is_half: bool = False
    """Setup has not finished: the worktree counts as incomplete."""
    is_ahead: bool = False
    """Set up for the pool, without the operator's files and ports."""
    folders: tuple[str, ...] = ()
    """Dependency folders, as .gitignore patterns."""
    tried: str = ""
    """The commit that a server was started on; differences from it are the server's."""
    is_used: bool = False
    """An agent may have worked in it since it was created."""
    toolchains: tuple[str, ...] = ()
    """Folders with the versions of tools that setup was run with."""

    def exclude_from(self, found: WorktreeContents, index: Index, folder: Path) -> WorktreeContents:
        """Returns the worktree's contents without these files."""
        entries = {path: entry for path, entry in found.entries.items() if not self._is_copied(path, index)}
        left_out = list(self._changed_copies(folder))
        for name, left in self.made.items():
            path = name.encode(errors="surrogateescape")
            if entry_state(entries.get(path)) == left:
                left_out += [f"{printable_path(path)}: written by setup or a server"]
                _restore_entry(entries, path, index)
        return replace(found, entries=entries, left_out=(*found.left_out, *left_out))

    def _changed_copies(self, folder: Path) -> Iterator[str]:
        """Yields the operator's files that were changed."""
        for name, sha in self.copied.items():
            if _blob_id_of(folder, name) != sha:
                yield f"{printable_path(name.encode(errors='surrogateescape'))}: a changed copy of the operator's file"

    def with_made(self, before: Mapping[bytes, str], after: Mapping[bytes, str], committed: Index) -> Self:
        """Adds the changed files to `made`, except files that had uncommitted work before."""
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        made = {
            path.decode(errors="surrogateescape"): after.get(path, REMOVED)
            for path in changed
            if before.get(path, REMOVED) == entry_state(committed.entries.get(path))
        }
        return replace(self, made={**self.made, **made})

    def with_served(self, after: "WorktreeState") -> Self:
        before = {path: entry_state(entry) for path, entry in after.committed.entries.items()}
        return self.with_made(before, after.entries, after.committed)

    def _is_copied(self, path: bytes, index: Index) -> bool:
        if path in index.entries:
            return False  # tracked by the repository
        name = path.decode(errors="surrogateescape")
        return any(name == copied or name.startswith(f"{copied}/") for copied in self.copied)


@dataclass(frozen=True, slots=True)
class WorktreeState:
    """State of a worktree."""

    entries: Mapping[bytes, str]
    """Mode and object id, by path."""
    committed: Index
    is_clean: bool
    """No changes since the last commit."""


def entry_state(entry: IndexEntry | None) -> str:
    return f"{entry.mode:o} {entry.sha.hex()}" if entry else REMOVED


def read_setup_record(admin: Path) -> SetupRecord:
    try:
        return from_record(SetupRecord, json.loads(_file(admin).read_text()))
    except (OSError, ValueError):
        return SetupRecord()


def write_setup_record(admin: Path, record: SetupRecord) -> None:
    fresh = _file(admin).with_suffix(".new")
    fresh.write_text(json.dumps(as_record(record)))
    fresh.replace(_file(admin))


def _file(admin: Path) -> Path:
    return admin / "provision.json"


def _restore_entry(entries: dict[bytes, IndexEntry], path: bytes, index: Index) -> None:
    if known := index.entries.get(path):
        entries[path] = IndexEntry(unknown_stamp(known.mode), known.sha)
    else:
        entries.pop(path, None)


def _blob_id_of(folder: Path, name: str) -> str:
    try:
        return blob_id(read_within(folder, name)).hex()
    except OSError:
        return ""
