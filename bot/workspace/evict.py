"""Frees disk space: deletes ignored folders of an idle worktree, or evicts the worktree until its next turn.

Rule: reads the worktree as capture does; uncommitted work is on a ref before the worktree is deleted.
"""

from collections.abc import Mapping
from dataclasses import replace

from bot.errors import OverLimit
from bot.git.command import GitFailed, git
from bot.git.in_child import in_child
from bot.workspace.branch import commit_uncommitted
from bot.workspace.paths import EVICTED, ProjectPaths
from bot.workspace.salvage import keep_commit
from bot.workspace.scan import find_ignored_folders
from bot.workspace.worktree import Worktree


def drop_ignored(worktree: Worktree) -> int:
    """Deletes folders that git ignores: dependencies, build output, caches. Returns their number."""
    tip = worktree.mirror.refs(worktree.ref).get(worktree.ref, "")
    if not tip or not worktree.is_complete():
        return 0
    try:
        ignored = in_child(find_ignored_folders, worktree.scan_order(tip)).paths
    except OverLimit:
        return 0
    for folder in ignored:
        worktree.trash.throw_from(worktree.paths.folder, folder.encode(errors="surrogateescape"))
    worktree.trash.empty()
    if ignored:
        worktree.save_setup_record(replace(worktree.setup_record, stamp=""))  # setup may have made some of them
    return len(ignored)


def evict(worktree: Worktree, *, frees_space: bool = True) -> bool:
    """Removes the worktree; the next turn restores it without ignored files. Returns False if nothing was removed.

    What a commit cannot hold stays on the disk: setting it aside would free no space.
    """
    mirror, name = worktree.mirror, f"{EVICTED}{worktree.paths.branch}"
    known = mirror.refs(worktree.ref, name)
    tip = known.get(worktree.ref, "")
    # a merge with unresolved conflicts exists only in its files
    if not tip or not worktree.is_complete() or worktree.read_pending(tip):
        return False
    try:
        commit = commit_uncommitted(worktree, tip)
    except OverLimit:
        return False
    if frees_space and not worktree.is_saved:
        return False
    if commit:
        keep_commit(mirror, worktree.paths.salvage_prefix, commit)
    if commit != known.get(name, ""):
        mirror.update_refs({name: (commit, known.get(name, ""))})
    worktree.discard()
    return True


def restore(worktree: Worktree, onto: str, refs: Mapping[str, str], project_paths: ProjectPaths) -> None:
    """Recreates an evicted worktree. An existing worktree is newer and stays."""
    name = f"{EVICTED}{worktree.paths.branch}"
    commit = refs.get(name, "")
    if not commit:
        return
    if not worktree.is_complete() and _is_child_of(worktree, commit, refs[worktree.ref]):
        worktree.create(onto, project_paths=project_paths, refs=refs, tree=f"{commit}^{{tree}}")
    worktree.mirror.update_refs({name: ("", commit)})


def _is_child_of(worktree: Worktree, commit: str, tip: str) -> bool:
    try:
        return git(worktree.mirror.path, "rev-parse", f"{commit}^") == tip
    except GitFailed:
        return False
