"""Compares a worktree or a commit with a base in a temporary repository, in a child process."""

from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.diff_view import DiffView
from bot.git.changed_files import changed_files
from bot.git.objects import BlobStore, blob_id, write_tree
from bot.workspace.capture import read_worktree
from bot.workspace.scan import ScanOrder
from bot.workspace.setup_record import read_setup_record

MAX_FILE_BYTES = 8_000_000
"""Larger files are left out."""
MAX_NEW_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class DiffOrder:
    """Says which files to compare, in plain values."""

    repository: str
    """The temporary one."""
    old: str
    new: str = ""
    """Empty: the worktree."""
    scan: ScanOrder | None = None


@dataclass(frozen=True, slots=True)
class ReadDiff:
    view: DiffView
    stored_bytes: int = 0
    """Added to the temporary repository."""


def read_diff(order: DiffOrder) -> ReadDiff:
    repository = Path(order.repository)
    if order.scan is None:
        return ReadDiff(DiffView(changed_files(repository, order.old, order.new)))
    scan, folder = order.scan, Path(order.scan.folder)
    index, limits = scan.index, replace(scan.limits, max_file_bytes=MAX_FILE_BYTES, max_new_bytes=MAX_NEW_BYTES)
    storing = _StoredOnce(repository, BlobStore(repository, index))
    found = read_worktree(folder, index, storing, scan.rules, limits)
    found = read_setup_record(Path(scan.admin)).exclude_from(found, index, folder)
    tree = write_tree(repository, found.entries, repository / "index")
    view = DiffView(changed_files(repository, order.old, tree), live=True, left_out=found.left_out)
    return ReadDiff(view, storing.size)


@dataclass(slots=True)
class _StoredOnce:
    """Stores each content once, although files are read each time."""

    repository: Path
    objects: BlobStore
    size: int = 0

    def __call__(self, content: bytes) -> bytes:
        sha = blob_id(content)
        name = sha.hex()
        if not (self.repository / "objects" / name[:2] / name[2:]).exists():
            self.objects.store(content)
            self.size += len(content)
        return sha
