"""Pool of one project: worktrees set up before a run needs them.

Rule: a note says that a worktree is ready; renaming the note takes it, which happens only once. Its folder keeps its
name for good, because tools wrote it into what they installed. Until taken it counts as incomplete.
"""

import contextlib
import os
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.remote import Remote
from bot.domain.turn import Workspace
from bot.errors import NeedsHuman
from bot.workspace.branch import find_base
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, ORIGIN, POOL_BRANCH, ProjectPaths, list_ready, pooled_name
from bot.workspace.pool_refresh import refresh_worktree
from bot.workspace.remove import remove_workspace
from bot.workspace.setup_record import SetupRecord
from bot.workspace.shadow_git_dir import is_untouched, shadow_refs
from bot.workspace.worktree import Worktree

_PREFIX = POOL_BRANCH.removeprefix("treehand/")


@dataclass(frozen=True, slots=True)
class PooledWorktree:
    """A worktree that is ready to be taken."""

    name: str
    commit: str

    @property
    def branch(self) -> str:
        return f"{POOL_BRANCH}{self.name.removeprefix(_PREFIX)}"


@dataclass(frozen=True, slots=True)
class WorktreePool:
    paths: ProjectPaths
    mirror: Mirror
    worktree: Callable[[str], Worktree]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a pooled worktree is changed."""
    _in_progress: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Worktrees being made, by branch, with the refs of their shadows."""

    def ready(self) -> Sequence[PooledWorktree]:
        """Ready worktrees, oldest first."""
        notes = [(pooled_name(note), note) for note in list_ready(self.paths)]
        return [PooledWorktree(name, note.read_text().partition(" ")[2].strip()) for name, note in notes]

    def find_base_branch(self, base: str, remote: Remote) -> str:
        """Returns the branch that runs start from."""
        return find_base(self.mirror, base, remote, self.mirror.refs(ORIGIN))

    def base_tip(self, onto: str) -> str:
        """Returns the branch's commit as last fetched."""
        name = f"{ORIGIN}{onto}"
        try:
            return self.mirror.refs(name)[name]
        except KeyError:
            raise NeedsHuman(f"The branch `{onto}` no longer exists.") from None

    def start(self, commit: str, onto: str) -> Workspace:
        """Creates a worktree at a commit; the caller sets it up and then finishes or discards it."""
        branch = f"{POOL_BRANCH}{uuid.uuid4().hex[:12]}"
        worktree = self.worktree(branch)
        self._in_progress[branch] = {}
        try:
            self.mirror.update_refs({worktree.ref: (commit, ""), f"{BASES}{branch}": (commit, "")})
            refs = self.mirror.refs(ORIGIN, worktree.ref)
            worktree.create(onto, project_paths=self.paths, refs=refs)
            worktree.save_setup_record(SetupRecord(is_half=True))
        except BaseException:
            self.discard(branch)
            raise
        self._in_progress[branch] = shadow_refs(branch, onto, refs)
        return Workspace(worktree.paths.mounts(self.mirror.path), branch, commit, commit)

    def finish(self, branch: str, commit: str) -> bool:
        """Makes it available. Returns False if setup committed or switched branches in its git, which would be lost."""
        is_plain = is_untouched(self.paths.for_branch(branch), self._in_progress[branch])
        if is_plain:
            self.mark_ready(branch, commit)
        return is_plain

    def mark_ready(self, branch: str, commit: str) -> None:
        note = self.paths.ready / self.paths.for_branch(branch).folder.name
        note.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.paths.pool / f"{note.name}~new"
        fresh.write_text(f"{note.name} {commit}\n")
        fresh.replace(note)
        self._in_progress.pop(branch, None)

    def withdraw(self, branch: str) -> bool:
        """Makes it unavailable while it is changed. Returns False if it has been taken."""
        with self._lock:
            self._in_progress[branch] = {}
            try:
                (self.paths.ready / self.paths.for_branch(branch).folder.name).unlink()
            except FileNotFoundError:
                del self._in_progress[branch]
                return False
        return True

    def refresh(self, branch: str, commit: str) -> bool:
        """Updates a withdrawn worktree to a newer base commit."""
        worktree = self.worktree(branch)
        return refresh_worktree(worktree, commit, self.mirror.refs(worktree.ref, f"{BASES}{branch}"))

    def take(self, branch: str, onto: str, refs: Mapping[str, str]) -> bool:
        """Gives a new branch a ready worktree of the same commit. Returns False if there is none.

        If it fails half-way, the worktree is incomplete and is recreated in the same place.
        """
        paths, commit = self.paths.for_branch(branch), refs[f"refs/heads/{branch}"]
        if os.path.lexists(paths.folder) or pooled_name(paths.taken):
            return False  # the branch had a worktree before, under that name
        with self._lock:
            found = next((one for one in self.ready() if one.commit == commit and self._is_usable(one)), None)
            if not found:
                return False
            paths.taken.parent.mkdir(parents=True, exist_ok=True)
            (self.paths.ready / found.name).rename(paths.taken)
            with contextlib.suppress(OSError):
                self.worktree(branch).take_over(onto, refs)
            self._delete_refs(found.branch)
        return True

    def discard(self, branch: str) -> bool:
        """Removes it, even if half made. Returns False if it was taken meanwhile."""
        name = self.paths.for_branch(branch).folder.name
        with self._lock:
            is_ours = name not in self._taken_names()
            (self.paths.ready / name).unlink(missing_ok=True)
        if is_ours:
            remove_workspace(self.worktree(branch))
        else:
            self._delete_refs(branch)
        self._in_progress.pop(branch, None)
        return is_ours

    def clear_unfinished(self) -> Sequence[Path]:
        """Removes worktrees that a crash left unfinished. Returns their folders."""
        if not self.mirror.exists() or not self.mirror.is_intact():
            return ()
        with self._lock:
            left = self._unfinished()
        return [self.paths.for_branch(branch).folder for branch in left if self.discard(branch)]

    def _unfinished(self) -> Sequence[str]:
        """Branches without a note and notes without a branch."""
        refs, whole = self.mirror.refs(f"refs/heads/{POOL_BRANCH}*"), {one.branch for one in self.ready()}
        there = {name.removeprefix("refs/heads/") for name in refs}
        return sorted((there ^ whole) - self._in_progress.keys())

    def _is_usable(self, one: PooledWorktree) -> bool:
        """It still exists: the mirror may have been replaced, or its files deleted."""
        worktree = self.worktree(one.branch)
        return worktree.paths.folder.is_dir() and worktree.setup_record.is_half and worktree.base_branch != ""

    def _taken_names(self) -> frozenset[str]:
        return frozenset(map(pooled_name, self.paths.taken.glob("*")))

    def _delete_refs(self, branch: str) -> None:
        known = self.mirror.refs(f"refs/heads/{branch}", f"{BASES}{branch}")
        if known:
            self.mirror.update_refs({name: ("", sha) for name, sha in known.items()})
