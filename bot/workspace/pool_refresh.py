"""Refreshes a pooled worktree to a newer base: writes the files that changed and nothing else.

Rule: setup has run in it, so no git runs in it and no link is followed. The result is compared with the commit; if it
differs, the worktree is replaced.
"""

import contextlib
from collections.abc import Sequence

from bot.git.commit_files import index_of_commit
from bot.git.index import FILE, PROGRAM
from bot.publish_guard.path_collisions import decode_path
from bot.publish_guard.path_rules import canonical
from bot.publish_guard.tree_diff import TreeDifference, diff_trees
from bot.workspace.branch import commit_tree
from bot.workspace.paths import BASES
from bot.workspace.switch_files import apply_differences
from bot.workspace.worktree import Worktree

_MAX_CHANGED_FILES = 300


def refresh_worktree(worktree: Worktree, commit: str, refs: dict[str, str]) -> bool:
    """Returns False if it could not be updated and has to be discarded."""
    old = refs[worktree.ref]
    with contextlib.suppress(OSError):
        differences = diff_trees(worktree.mirror.path, commit, [old])
        if not _can_apply(differences):
            return False
        apply_differences(worktree.paths.folder, worktree.mirror.path, differences)
        worktree.put_lfs_objects(index_of_commit(worktree.mirror.path, commit).entries)
        with worktree.scan(commit) as scan:
            if scan.tree != commit_tree(worktree, commit):
                return False
            worktree.save_index(scan)
        _move_refs(worktree, commit, refs)
        return True
    return False


def _can_apply(differences: Sequence[TreeDifference]) -> bool:
    """Few regular files, and no `.gitignore`: files of setup may no longer be ignored."""
    modes = {item.mode for one in differences for item in one.versions}
    names = {canonical(decode_path(one.path)).rpartition("/")[2] for one in differences}
    return len(differences) <= _MAX_CHANGED_FILES and modes <= {FILE, PROGRAM} and ".gitignore" not in names


def _move_refs(worktree: Worktree, commit: str, refs: dict[str, str]) -> None:
    base = f"{BASES}{worktree.paths.branch}"
    worktree.mirror.update_refs({worktree.ref: (commit, refs[worktree.ref]), base: (commit, refs[base])})
    worktree.copy_index_to_shadow()
