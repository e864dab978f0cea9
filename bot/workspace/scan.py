"""Scan: reads a worktree into a tree and has the publish guard judge it. Called in a child process only.

Rule: reads the worktree and the mirror; writes into the quarantine and the index file that it is given.
"""

from dataclasses import dataclass
from pathlib import Path

from bot.domain.change import Objection
from bot.git.commit_files import index_of_commit
from bot.git.gitignore import IgnoreRules, parse_gitignore
from bot.git.index import Index, UnreadableIndex, read_index
from bot.git.lfs import lfs_objects
from bot.git.objects import BlobStore, write_tree
from bot.publish_guard.guard import JudgeOrder, judge
from bot.publish_guard.size_limits import MAX_NEW_FILES
from bot.workspace.capture import ReadLimits, read_worktree
from bot.workspace.lfs_files import name_missing_objects
from bot.workspace.setup_record import read_setup_record
from bot.workspace.submodules import judge_submodules, note_submodules

_NO_OBJECT = bytes(20)


@dataclass(frozen=True, slots=True)
class ScanOrder:
    """A worktree to read, as plain values."""

    folder: str
    admin: str
    """Its administrative folder in the mirror."""
    mirror: str
    committed: str
    """The commit whose files count as known if there is no index."""
    ignored: tuple[str, ...] = ()
    max_new_files: int = MAX_NEW_FILES

    @property
    def index(self) -> Index:
        try:
            return read_index(Path(self.admin) / "index")
        except UnreadableIndex:
            return index_of_commit(Path(self.mirror), self.committed)

    @property
    def rules(self) -> IgnoreRules:
        """Ignore rules of the settings and of setup."""
        record = read_setup_record(Path(self.admin))
        return parse_gitignore("\n".join((*self.ignored, *record.folders)).encode())

    @property
    def limits(self) -> ReadLimits:
        made = read_setup_record(Path(self.admin)).made
        expected = frozenset(name.encode(errors="surrogateescape") for name in made)
        return ReadLimits(max_new_files=self.max_new_files, expected=expected)


@dataclass(frozen=True, slots=True)
class TreeOrder:
    """A tree to make of a worktree, and what to judge it by."""

    scan: ScanOrder
    quarantine: str
    """Repository for new objects."""
    index: str
    """Index file to write."""
    judging: JudgeOrder | None = None
    """Its tree is the one that is made."""


@dataclass(frozen=True, slots=True)
class ScannedTree:
    tree: str
    left_out: tuple[str, ...] = ()
    objections: tuple[Objection, ...] = ()
    is_whole: bool = True
    """False if files or folders with content were left out."""


@dataclass(frozen=True, slots=True)
class IgnoredFolders:
    paths: tuple[str, ...] = ()
    """Any bytes survive, as surrogates."""


def make_tree(order: TreeOrder) -> ScannedTree:
    """Raises OverLimit if the worktree cannot be read as a whole."""
    scan, quarantine, folder = order.scan, Path(order.quarantine), Path(order.scan.folder)
    index = scan.index
    blobs, objects = BlobStore(quarantine, index), lfs_objects(quarantine)
    found = read_worktree(folder, index, blobs.store, scan.rules, scan.limits, objects.add)
    found = read_setup_record(Path(scan.admin)).exclude_from(found, index, folder)
    found = judge_submodules(folder, Path(scan.admin), found, found.entries)
    tree = write_tree(quarantine, found.entries, Path(order.index))
    judging = order.judging and order.judging.about(tree, repository=order.quarantine)
    objections = judge(judging).objections if judging else ()
    left_out = (*found.left_out, *name_missing_objects(quarantine, found.entries))
    return ScannedTree(tree, left_out, objections, is_whole=found.is_whole)


def accept_submodules(order: ScanOrder) -> IgnoredFolders:
    """Counts the present content of submodules as setup's. Writes beside the index."""
    note_submodules(Path(order.folder), Path(order.admin), order.index.entries)
    return IgnoredFolders()


def find_ignored_folders(order: ScanOrder) -> IgnoredFolders:
    """Stores nothing: the disk may be full."""
    found = read_worktree(Path(order.folder), order.index, lambda _: _NO_OBJECT, order.rules, order.limits)
    return IgnoredFolders(tuple(path.decode(errors="surrogateescape") for path in found.ignored_folders))
