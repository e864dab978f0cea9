"""Live diff: a worktree against its base, also while an agent writes in it.

Rule: reads the worktree as capture does, in a child process; git runs only in a temporary repository that borrows the
mirror's objects and holds uncommitted content until the next start. Takes no lock that turns need.
"""

import asyncio
import shutil
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.domain.diff_view import DiffView, FileDiff, FileVersion
from bot.errors import NeedsHuman, OverLimit, Retryable
from bot.git.command import git, git_bytes
from bot.git.in_child import in_child
from bot.git.in_thread import in_thread
from bot.git.index import Index
from bot.git.objects import BlobStore
from bot.workspace.diff_worktree import DiffOrder, read_diff
from bot.workspace.mirror import RAW_ATTRIBUTES
from bot.workspace.paths import BASES, BranchPaths, ProjectPaths
from bot.workspace.pending_merge import read_pending
from bot.workspace.scan import ScanOrder

_SECONDS = 20.0
_CACHE_SECONDS = 2.0
_MAX_CONCURRENT = 2
_MAX_BRANCHES = 24
_MAX_STORED_BYTES = 256_000_000
_MAX_PATCH_BYTES = 64_000_000
_COMMIT_SECONDS = 30.0
_GIT_SECONDS = 8.0
"""Seconds that git may take for what somebody looks at; the end of the daemon waits for it."""
_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

_LAST_COMMIT = "This is the last commit."


@dataclass(slots=True)
class _BranchState:
    """Cached diff of one branch."""

    path: Path
    view: DiffView = field(default_factory=DiffView)
    read_at: float = -_CACHE_SECONDS
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    stored_bytes: int = 0
    """Content in the temporary repository."""


class LiveDiffs:
    """Live diffs of one project. `borrowed`: more repositories to read objects from, when the mirror has lost them."""

    def __init__(
        self,
        root: Path,
        project: str,
        *,
        ignored: Sequence[str],
        borrowed: Sequence[Path] = (),
        seconds: float = _SECONDS,
    ) -> None:
        self._paths = ProjectPaths(root, project)
        self._ignored = tuple(ignored)
        self._alternates = tuple(borrowed)
        self._seconds = seconds
        self._states: OrderedDict[str, _BranchState] = OrderedDict()
        self._patches: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)
        shutil.rmtree(self._paths.live_diffs, ignore_errors=True)

    async def read(self, branch: str, *, ended: tuple[str, str] = ("", "")) -> DiffView:
        """`ended`: base and head of the pull request, used when the branch is gone."""
        state = self._state(branch)
        async with state.lock:
            if asyncio.get_running_loop().time() - state.read_at >= _CACHE_SECONDS:
                async with self._slots:
                    state.view = await in_thread(self._read, branch, state, ended)
                state.read_at = asyncio.get_running_loop().time()
            return state.view

    async def patch(self, branch: str, file: FileDiff) -> bytes:
        """A patch of git with three context lines."""
        old, new = _blob_id_of(file.before), _blob_id_of(file.after)
        if (old, new) not in self._patches:
            async with self._slots:
                text = await in_thread(self._patch, self._state(branch).path, old, new)
            self._patches[old, new] = text
        self._patches.move_to_end((old, new))
        while sum(map(len, self._patches.values())) > _MAX_PATCH_BYTES and len(self._patches) > 1:
            self._patches.popitem(last=False)
        return self._patches[old, new]

    async def content(self, branch: str, version: FileVersion | None) -> bytes:
        sha = _blob_id_of(version)
        async with self._slots:
            return await in_thread(git_bytes, self._state(branch).path, "cat-file", "blob", sha, timeout=_GIT_SECONDS)

    def _state(self, branch: str) -> _BranchState:
        paths = self._paths.for_branch(branch)
        state = self._states.setdefault(branch, _BranchState(self._paths.live_diffs / paths.folder.name))
        self._states.move_to_end(branch)
        idle = [name for name, one in self._states.items() if name != branch and not one.lock.locked()]
        for name in idle[: max(len(self._states) - _MAX_BRANCHES, 0)]:
            shutil.rmtree(self._states.pop(name).path, ignore_errors=True)
        return state

    def _read(self, branch: str, state: _BranchState, ended: tuple[str, str]) -> DiffView:
        self._prepare(state)
        paths = self._paths.for_branch(branch)
        refs = self._refs(branch)
        base, tip = refs.get(f"{BASES}{branch}", ""), refs.get(f"refs/heads/{branch}", "")
        if not (base and tip):
            return self._committed(state, *ended)
        pending = read_pending(paths.admin, tip)
        base = pending.base if pending else base
        if not _is_whole(paths):
            return self._committed(state, base, tip)
        try:
            order = DiffOrder(str(state.path), base, scan=self._scan_order(paths, tip))
            return self._compare(state, order, seconds=self._seconds)
        except OverLimit as problem:
            return self._committed(state, base, tip, trouble=f"{problem} {_LAST_COMMIT}")
        except NeedsHuman:  # removed while it was read
            return self._committed(state, base, tip)

    def _committed(self, state: _BranchState, base: str, tip: str, *, trouble: str = "") -> DiffView:
        view = self._compare(state, DiffOrder(str(state.path), base, tip)) if base and tip else DiffView()
        return replace(view, trouble=trouble)

    def _compare(self, state: _BranchState, order: DiffOrder, *, seconds: float = _COMMIT_SECONDS) -> DiffView:
        found = in_child(read_diff, order, seconds=seconds)
        state.stored_bytes += found.stored_bytes
        return found.view

    def _scan_order(self, paths: BranchPaths, tip: str) -> ScanOrder:
        return ScanOrder(str(paths.folder), str(paths.admin), str(self._paths.mirror), tip, self._ignored)

    def _refs(self, branch: str) -> dict[str, str]:
        if not (self._paths.mirror / "HEAD").exists():
            return {}
        names = (f"{BASES}{branch}", f"refs/heads/{branch}")
        listing = git(self._paths.mirror, "for-each-ref", "--format=%(objectname) %(refname)", *names)
        return {name: sha for sha, _, name in (line.partition(" ") for line in listing.splitlines())}

    def _prepare(self, state: _BranchState) -> None:
        if state.stored_bytes > _MAX_STORED_BYTES:
            shutil.rmtree(state.path, ignore_errors=True)
        if (state.path / "HEAD").exists():
            return
        state.stored_bytes = 0
        for folder in ("objects/info", "refs", "info"):
            (state.path / folder).mkdir(parents=True, exist_ok=True)
        lenders = [one for one in (self._paths.mirror, *self._alternates) if (one / "objects").is_dir()]
        (state.path / "objects" / "info" / "alternates").write_text("".join(f"{one}/objects\n" for one in lenders))
        (state.path / "info" / "attributes").write_text(RAW_ATTRIBUTES)
        BlobStore(state.path, Index()).store(b"")
        (state.path / "HEAD").write_text("ref: refs/heads/none\n")

    @staticmethod
    def _patch(path: Path, old: str, new: str) -> bytes:
        return git_bytes(
            path, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index", old, new, timeout=_GIT_SECONDS
        )


def _is_whole(paths: BranchPaths) -> bool:
    return (paths.admin / "treehand").exists() and paths.folder.is_dir() and not paths.folder.is_symlink()


def _blob_id_of(version: FileVersion | None) -> str:
    if version is None:
        return _EMPTY_BLOB
    if not version.has_content:
        raise Retryable("A submodule has no content here.")
    return version.sha
