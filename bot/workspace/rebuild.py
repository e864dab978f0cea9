"""Rebuilds a worktree on its base, so that setup meets nothing of an agent's, and puts the work back afterwards.

Rule: until the worktree is complete again it counts as evicted, so a crash loses nothing.
"""

from dataclasses import dataclass, replace

from bot.git.commit_files import index_of_commit
from bot.workspace.evict import evict
from bot.workspace.paths import BASES, EVICTED, ORIGIN, ProjectPaths
from bot.workspace.pending_merge import write_pending
from bot.workspace.setup_record import SetupRecord, WorktreeState, entry_state
from bot.workspace.switch_files import switch_files
from bot.workspace.worktree import Worktree


@dataclass(frozen=True, slots=True)
class RebuiltWorktree:
    base: str
    """The merged commit whose files it has now."""
    work: str
    """The commit or tree with its work."""


def rebuild_on_base(worktree: Worktree, project_paths: ProjectPaths) -> RebuiltWorktree | None:
    """Returns None, and changes nothing, if an agent is in the middle of a merge."""
    onto, base, evicted = worktree.base_branch, f"{BASES}{worktree.paths.branch}", f"{EVICTED}{worktree.paths.branch}"
    refs = worktree.mirror.refs(ORIGIN, worktree.ref, base)
    pending = worktree.read_pending(refs[worktree.ref])
    if worktree.setup_record.is_used if pending else not evict(worktree, frees_space=False):
        return None
    rebuilt = RebuiltWorktree(pending.base, pending.tree) if pending else RebuiltWorktree(refs[base], "")
    worktree.create(onto, project_paths=project_paths, refs=refs, tree=f"{rebuilt.base}^{{tree}}")
    if pending:
        write_pending(worktree.paths.admin, pending)
    worktree.save_setup_record(SetupRecord(is_half=True))
    work = rebuilt.work or worktree.mirror.refs(evicted).get(evicted, "") or refs[worktree.ref]
    return replace(rebuilt, work=work)


def put_work_back(worktree: Worktree, base: str, work: str) -> WorktreeState:
    """Writes the files in which `work` differs from the base. Returns the state without what setup has made."""
    switch_files(worktree.paths.folder, worktree.mirror.path, old=base, new=work)
    index = index_of_commit(worktree.mirror.path, work)
    worktree.replace_index(worktree.put_lfs_objects(index.entries))
    worktree.copy_index_to_shadow()
    return WorktreeState({path: entry_state(entry) for path, entry in index.entries.items()}, index, is_clean=True)
