"""Worktree access for setup and verification: reads commits, rebuilds worktrees and saves setup records."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from bot.domain.turn import Workspace, WorktreeMounts
from bot.git.command import git
from bot.git.commit_files import CommitFiles, index_of_commit, read_commit_files
from bot.git.in_child import in_child
from bot.git.in_thread import in_thread
from bot.git.index import read_index
from bot.publish_guard.path_collisions import decode_path
from bot.publish_guard.tree_diff import diff_trees
from bot.workspace.branch import commit_tree
from bot.workspace.layer_files import LayerContents, LayerOrder, make_layer, put_beneath
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, ProjectPaths
from bot.workspace.rebuild import RebuiltWorktree, put_work_back, rebuild_on_base
from bot.workspace.remove import remove_workspace
from bot.workspace.scan import accept_submodules
from bot.workspace.setup_record import SetupRecord, WorktreeState, entry_state, read_setup_record
from bot.workspace.submodules import empty_submodules
from bot.workspace.switch_files import switch_files
from bot.workspace.worktree import Worktree

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SetupAccess:
    """Worktrees of one project."""

    paths: ProjectPaths
    mirror: Mirror
    worktree: Callable[[str], Worktree]
    lock_branch: Callable[[str], AbstractAsyncContextManager[None]]
    temporary: set[str] = field(default_factory=set)
    """Branches of temporary worktrees."""

    async def read_commit(self, commit: str, ask: Callable[[CommitFiles], T]) -> T:
        """Calls `ask` with the files of a commit."""
        return await in_thread(lambda: ask(read_commit_files(self.mirror.path, commit)))

    async def survey(self, branch: str) -> WorktreeState:
        """Returns the worktree's state without setup's own files."""
        async with self.lock_branch(branch):
            return await in_thread(self._survey, branch)

    async def empty_submodules(self, branch: str) -> None:
        """Leaves submodules to the setup of the repository."""
        async with self.lock_branch(branch):
            await in_thread(self._empty_submodules, branch)

    async def accept_submodules(self, branch: str) -> None:
        """Counts the present content of submodules as setup's, and as nobody's work."""
        async with self.lock_branch(branch):
            await in_thread(self._accept_submodules, branch)

    async def get_record(self, branch: str) -> SetupRecord:
        return await in_thread(lambda: self.worktree(branch).setup_record)

    async def save_record(self, branch: str, record: SetupRecord) -> None:
        async with self.lock_branch(branch):
            await in_thread(lambda: self.worktree(branch).save_setup_record(record))

    async def discard(self, branch: str) -> None:
        """Discards a worktree in which only setup has worked; the next turn creates another."""
        async with self.lock_branch(branch):
            await in_thread(lambda: self.worktree(branch).discard())

    async def base_of(self, branch: str) -> str:
        """Returns the branch's base commit; empty without a complete worktree."""
        return await in_thread(self._base_of, branch)

    async def changed_paths(self, base: str, commit: str) -> Sequence[str]:
        """Paths in which the commit differs from its base."""
        found = await in_thread(diff_trees, self.mirror.path, commit, [base])
        return [decode_path(one.path) for one in found]

    async def make_layer(
        self, branch: str, into: Path, patterns: Sequence[str], operators: Sequence[str], *, takes_all: bool
    ) -> LayerContents:
        """Moves the dependencies that setup has installed into a layer. Raises OverLimit if that takes too long."""
        async with self.lock_branch(branch):
            return await in_thread(self._make_layer, branch, into, tuple(patterns), tuple(operators), takes_all)

    async def put_layer_beneath(self, branch: str, layer: Path, contents: LayerContents) -> bool:
        """Returns False if files of the worktree are in the way."""
        paths = self.paths.for_branch(branch)
        async with self.lock_branch(branch):
            return await in_thread(put_beneath, layer, contents, paths.folder, paths.layer)

    def used_layers(self) -> frozenset[str]:
        """Names of the layers that worktrees use."""
        links = (admin / "layer" for admin in (self.paths.mirror / "worktrees").glob("*/"))
        return frozenset(link.readlink().parent.name for link in links if link.is_symlink())

    async def object_ids(self, commit: str) -> Mapping[str, str]:
        """Object ids of a commit's files, by path."""
        index = await in_thread(index_of_commit, self.mirror.path, commit)
        return {decode_path(path): entry.sha.hex() for path, entry in index.entries.items()}

    async def tree_of(self, commit: str) -> str:
        return await in_thread(git, self.mirror.path, "rev-parse", f"{commit}^{{tree}}")

    async def end_serving(self, branch: str) -> None:
        """Changes since a server was started are not the agent's work."""
        if (await self.get_record(branch)).tried:
            async with self.lock_branch(branch):
                await in_thread(self._end_serving, branch)

    async def rebuild_on_base(self, branch: str) -> RebuiltWorktree | None:
        """Recreates a worktree with the files of its base. Returns None if an agent is in the middle of a merge."""
        async with self.lock_branch(branch):
            return await in_thread(lambda: rebuild_on_base(self.worktree(branch), self.paths))

    async def put_work_back(self, branch: str, base: str, work: str) -> WorktreeState:
        """Returns the worktree's state without what setup has made."""
        async with self.lock_branch(branch):
            return await in_thread(lambda: put_work_back(self.worktree(branch), base, work))

    @asynccontextmanager
    async def temporary_worktree(self, branch: str, commit: str, *, purpose: str) -> AsyncIterator[Workspace]:
        """A temporary worktree at a published commit; removed at the end."""
        branch = f"{branch}.{purpose}"  # no issue's branch has a dot
        self.temporary.add(branch)
        try:
            async with self.lock_branch(branch):
                workspace = await in_thread(self._make_temporary, branch, commit)
            yield workspace
        finally:
            await in_thread(lambda: remove_workspace(self.worktree(branch)))
            self.temporary.discard(branch)

    async def switch_temporary(self, fresh: Workspace, commit: str) -> Workspace:
        """Gives a temporary worktree the files of another commit; files that setup has made stay."""
        async with self.lock_branch(fresh.branch):
            await in_thread(self._switch_temporary, fresh, commit)
        return replace(fresh, head=commit)

    def folder(self, branch: str) -> Path:
        return self.paths.for_branch(branch).folder

    def mounts(self, branch: str) -> WorktreeMounts:
        return self.paths.for_branch(branch).mounts(self.mirror.path)

    def copied_files(self) -> frozenset[str]:
        """Paths of the operator's files in all worktrees."""
        admins = (self.paths.mirror / "worktrees").glob("*/")
        return frozenset(path for admin in admins for path in read_setup_record(admin).copied)

    def _empty_submodules(self, branch: str) -> None:
        worktree = self.worktree(branch)
        empty_submodules(worktree.paths.folder, worktree.paths.admin, worktree.trash)

    def _accept_submodules(self, branch: str) -> None:
        worktree = self.worktree(branch)
        in_child(accept_submodules, worktree.scan_order(self.mirror.refs(worktree.ref)[worktree.ref]))

    def _survey(self, branch: str) -> WorktreeState:
        worktree = self.worktree(branch)
        tip = self.mirror.refs(worktree.ref)[worktree.ref]
        with worktree.scan(tip) as scan:
            entries = {path: entry_state(entry) for path, entry in read_index(scan.index).entries.items()}
            is_same = scan.tree == commit_tree(worktree, tip) and scan.found.is_whole
            is_clean = is_same and not worktree.read_pending(tip)
            return WorktreeState(entries, worktree.scan_order(tip).index, is_clean=is_clean)

    def _end_serving(self, branch: str) -> None:
        """Records changes as the server's only if no commit was made since."""
        worktree = self.worktree(branch)
        record = worktree.setup_record
        if worktree.is_complete() and self.mirror.refs(worktree.ref).get(worktree.ref) == record.tried:
            record = record.with_served(self._survey(branch))
        worktree.save_setup_record(replace(record, tried=""))

    def _make_temporary(self, branch: str, commit: str) -> Workspace:
        """Marked incomplete, so that its files are never treated as work after a crash."""
        worktree = self.worktree(branch)
        remove_workspace(worktree)
        self.mirror.update_refs({worktree.ref: (commit, ""), f"{BASES}{branch}": (commit, "")})
        worktree.create("", project_paths=self.paths, refs=self.mirror.refs(worktree.ref))
        worktree.save_setup_record(SetupRecord(is_half=True))
        return Workspace(self.mounts(branch), branch, commit, commit)

    def _make_layer(
        self,
        branch: str,
        into: Path,
        patterns: tuple[str, ...],
        operators: tuple[str, ...],
        takes_all: bool,  # noqa: FBT001
    ) -> LayerContents:
        worktree = self.worktree(branch)
        scan = worktree.scan_order(self.mirror.refs(worktree.ref)[worktree.ref])
        return in_child(make_layer, LayerOrder(scan, str(into), patterns, operators, takes_all))

    def _switch_temporary(self, fresh: Workspace, commit: str) -> None:
        worktree = self.worktree(fresh.branch)
        worktree.outlast_second()
        switch_files(worktree.paths.folder, self.mirror.path, old=fresh.head, new=commit)
        worktree.put_lfs_objects(index_of_commit(self.mirror.path, commit).entries)
        self.mirror.update_refs({worktree.ref: (commit, fresh.head)})
        (worktree.paths.admin / "index").unlink()

    def _base_of(self, branch: str) -> str:
        worktree = self.worktree(branch)
        base = f"{BASES}{branch}"
        return self.mirror.refs(base).get(base, "") if worktree.is_complete() else ""
