"""One branch's worktree: created completely or not at all, scanned, discarded. Its metadata is in the mirror."""

import contextlib
import logging
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot.git.command import git
from bot.git.in_child import MAX_SECONDS, in_child
from bot.git.index import IndexEntry, read_index, write_index
from bot.git.progress import git_with_progress
from bot.publish_guard.guard import JudgeOrder, PublishGuard
from bot.publish_guard.size_limits import MAX_NEW_FILES
from bot.system import clock
from bot.system.trash import Trash, make_accessible
from bot.workspace.lfs_files import put_objects
from bot.workspace.lfs_remote import download_missing, known_objects
from bot.workspace.mirror import Mirror
from bot.workspace.paths import WORK_SUFFIX, BranchPaths, ProjectPaths
from bot.workspace.pending_merge import PendingMerge, read_pending, write_pending
from bot.workspace.quarantine import Quarantine
from bot.workspace.safe_files import remove_within
from bot.workspace.scan import ScannedTree, ScanOrder, TreeOrder, make_tree
from bot.workspace.setup_record import SetupRecord, read_setup_record, write_setup_record
from bot.workspace.shadow_git_dir import (
    build_shadow,
    copy_index,
    point_to_shadow,
    rename_branch,
    reset_settings,
    shadow_refs,
)
from bot.workspace.submodules import SubmoduleFiles

log = logging.getLogger(__name__)

_LOCKED = "In use by Treehand."
_MOMENT = 0.02
_FILES_READ_PER_ALLOWED = 10
"""So many new files are read for each that a turn may change: a person may allow more."""


@dataclass(frozen=True, slots=True)
class WorktreeScan:
    """Content of a worktree. Its index file exists as long as the scan."""

    found: ScannedTree
    index: Path
    quarantine: Quarantine
    """Repository with the tree's new objects; reads the others from the mirror."""

    @property
    def tree(self) -> str:
        return self.found.tree


@dataclass(frozen=True, slots=True)
class Worktree:
    paths: BranchPaths
    mirror: Mirror
    trash: Trash
    guard: PublishGuard
    ignored: Sequence[str] = ()

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.paths.branch}"

    @property
    def base_branch(self) -> str:
        """The branch it was started from; empty if unknown."""
        with contextlib.suppress(OSError):
            return self._complete_mark.read_text()
        return ""

    def note_base(self, onto: str) -> None:
        """Its base branch may have been renamed since."""
        if onto != self.base_branch:
            self._complete_mark.write_text(onto)

    @property
    def _complete_mark(self) -> Path:
        """Written last: its existence says that the worktree is complete."""
        return self.paths.admin / "treehand"

    def is_complete(self) -> bool:
        is_there = self._complete_mark.exists() and self.paths.folder.is_dir() and not self.paths.folder.is_symlink()
        return is_there and not self.setup_record.is_half

    @property
    def _unsaved_mark(self) -> Path:
        return self.paths.admin / "unsaved"

    @property
    def is_saved(self) -> bool:
        """A commit can hold everything that was in it when it was scanned last before it was to be removed."""
        return not self._unsaved_mark.exists()

    def note_unsaved(self, found: ScannedTree) -> None:
        """Call it after a scan whose work is committed, so that what it has left out is not removed."""
        if found.is_whole:
            self._unsaved_mark.unlink(missing_ok=True)
        else:
            self._unsaved_mark.touch()

    def read_pending(self, tip: str) -> PendingMerge | None:
        """The merge whose conflicts its files show."""
        return read_pending(self.paths.admin, tip)

    def create(
        self,
        onto: str,
        *,
        project_paths: ProjectPaths,
        refs: Mapping[str, str],
        pending: PendingMerge | None = None,
        tree: str = "",
    ) -> None:
        """Creates it at the tip of the branch, with the files of `tree` or of a pending merge.

        A failure leaves nothing behind.
        """
        if os.path.lexists(self.paths.folder) and not self.paths.admin.exists():
            self._move_aside(project_paths.aside / self.paths.folder.name)
        self.discard()
        self.paths.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._check_out(pending.tree if pending else tree)
            if pending:
                write_pending(self.paths.admin, pending)
            (self.paths.admin / "locked").write_text(_LOCKED)
            self.renew_shadow(onto, refs)
            self._complete_mark.write_text(onto)
        except BaseException:
            self.discard()
            raise

    def take_over(self, onto: str, refs: Mapping[str, str]) -> None:
        """Turns a pooled worktree into this branch's; marks it complete last."""
        fresh = self.paths.admin / "HEAD.new"
        fresh.write_text(f"ref: {self.ref}\n")
        fresh.replace(self.paths.admin / "HEAD")
        rename_branch(self.paths, shadow_refs(self.paths.branch, onto, refs))
        self._complete_mark.write_text(onto)
        self.save_setup_record(replace(self.setup_record, is_half=False, is_ahead=True))

    def _check_out(self, tree: str) -> None:
        """Git may run here: no agent has used the folder yet."""
        folder = self.paths.folder
        command = ("worktree", "add", "--quiet", "--no-checkout", str(folder), self.paths.branch)
        with self.mirror.adding_worktree:
            self.mirror.retry_beside_new_worktrees(lambda: git(self.mirror.path, *command))
        git_with_progress(self.paths.admin, f"--work-tree={folder}", "read-tree", "--reset", "-u", "-v", tree or "HEAD")
        tree = git(self.paths.admin, "rev-parse", f"{tree or 'HEAD'}^{{tree}}")
        download_missing(self.mirror, tree)
        known = read_index(self.paths.admin / "index").entries
        stamped = self.put_lfs_objects(known)
        if stamped != known:
            self.replace_index(stamped)
        SubmoduleFiles(self.mirror, folder, self.paths.admin).put(tree)

    def put_lfs_objects(self, entries: Mapping[bytes, IndexEntry]) -> Mapping[bytes, IndexEntry]:
        """Puts objects of Git LFS in the place of pointers. Returns the entries, with the stamps of these files."""
        return put_objects(self.paths.folder, self.mirror.path, entries, known_objects(self.mirror))

    def replace_index(self, entries: Mapping[bytes, IndexEntry]) -> None:
        new = self.paths.admin / "index.new"
        write_index(new, entries)
        new.replace(self.paths.admin / "index")

    def renew_shadow(self, onto: str, refs: Mapping[str, str]) -> None:
        known = shadow_refs(self.paths.branch, onto, refs)
        build_shadow(self.paths, self.trash, mirror=self.mirror.path, refs=known, ignored=self.ignored)
        point_to_shadow(self.paths, self.trash)

    def renew_pointer(self, refs: Mapping[str, str]) -> None:
        """Keeps the git directories if they exist; else builds new ones."""
        with contextlib.suppress(OSError):
            if all((one / "HEAD").is_file() for one in (self.paths.shadow, self.paths.agent_git)):
                reset_settings(self.paths, self.trash, self.ignored)
                point_to_shadow(self.paths, self.trash)
                return
        self.renew_shadow(self.base_branch, refs)

    @contextlib.contextmanager
    def scan(
        self, committed: str, judging: JudgeOrder | None = None, *, seconds: float = MAX_SECONDS
    ) -> Iterator[WorktreeScan]:
        """Reads the worktree; new content stays in quarantine during the scan. Raises OverLimit if it is too much."""
        new = self.paths.admin / "index.new"
        with Quarantine(self.paths.admin / "quarantine", self.mirror.path) as quarantine:
            order = TreeOrder(self.scan_order(committed), str(quarantine.path), str(new), judging)
            try:
                yield WorktreeScan(in_child(make_tree, order, seconds=seconds), new, quarantine)
            finally:
                new.unlink(missing_ok=True)

    def scan_order(self, committed: str) -> ScanOrder:
        paths = self.paths
        return ScanOrder(
            folder=str(paths.folder),
            admin=str(paths.admin),
            mirror=str(self.mirror.path),
            committed=committed,
            ignored=tuple(self.ignored),
            max_new_files=max(MAX_NEW_FILES, _FILES_READ_PER_ALLOWED * self.guard.rules.max_changed_files),
        )

    @property
    def setup_record(self) -> SetupRecord:
        return read_setup_record(self.paths.admin)

    def save_setup_record(self, record: SetupRecord) -> None:
        write_setup_record(self.paths.admin, record)

    def outlast_second(self) -> None:
        """Waits for another second than that of its checkout.

        What setup has compiled from a file counts as up to date while the file has the same size and the same second.
        """
        began, probe = int(self._complete_mark.stat().st_mtime), self.paths.admin / "locked"
        while int(probe.stat().st_mtime) <= began:
            time.sleep(_MOMENT)
            probe.touch()

    def save_index(self, scan: WorktreeScan) -> None:
        """Saves the index, so that the next scan reads only changed files."""
        scan.index.replace(self.paths.admin / "index")

    def copy_index_to_shadow(self) -> None:
        copy_index(self.paths, agent_git=self.paths.agent_git, shadow=self.paths.shadow)

    def discard(self) -> None:
        """Removes it; the files stay in `aside` if no commit can hold all of them.

        Files that cannot be deleted are moved away and reported by the sweep.
        """
        if self.is_complete() and not self.is_saved:
            log.warning(
                "worktree set aside, because no commit can hold all of it path=%s",
                self.set_aside(self.paths.aside.with_name(self.paths.aside.name + WORK_SUFFIX)),
            )
        self.trash.throw(self.paths.folder)
        if self.paths.admin.exists():
            shutil.rmtree(self.paths.admin)
        for git_dir in (self.paths.shadow, self.paths.agent_git):
            self.trash.throw(git_dir)
        self.trash.empty()

    def set_aside(self, place: Path) -> Path:
        """Moves the folder out of the way, without git's pointer and the operator's files. Returns its new place."""
        make_accessible(self.paths.folder)  # a folder without write permission could be neither emptied nor moved
        for name in (".git", *self.setup_record.copied):
            with contextlib.suppress(OSError):
                remove_within(self.paths.folder, name)
        kept = self._move_aside(place)
        os.utime(kept, (now := clock.now(), now))  # the sweep keeps it from now on
        return kept

    def _move_aside(self, place: Path) -> Path:
        place.parent.mkdir(parents=True, exist_ok=True)
        free = place if not place.exists() else place.with_name(f"{place.name}-{uuid.uuid4().hex[:8]}")
        return self.paths.folder.rename(free)
