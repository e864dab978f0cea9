"""Hand work: finds the commit of a person's changes, and undoes what a planning agent changed."""

import contextlib
from collections.abc import Mapping

from bot.errors import OverLimit
from bot.git.command import git
from bot.workspace.branch import commit_tree
from bot.workspace.mirror import Mirror
from bot.workspace.paths import ProjectPaths
from bot.workspace.salvage import salvage
from bot.workspace.worktree import Worktree


def find_hand_commit(mirror: Mirror, base: str, tip: str, *, message: str, at: float) -> str:
    """Returns the commit with this message and date; empty if there is none yet."""
    log = git(mirror.path, "log", "-z", "--first-parent", "--format=%H %ct %B", f"{base}..{tip}")
    for entry in log.split("\0"):
        commit, _, rest = entry.partition(" ")
        stamp, _, subject = rest.partition(" ")
        if stamp == str(int(at)) and subject.strip() == message.strip():
            return commit
    return ""


def undo_uncommitted(worktree: Worktree, refs: Mapping[str, str], project_paths: ProjectPaths) -> str:
    """Recreates the worktree from its branch. Returns where the changes are salvaged; empty if there were none."""
    tip, onto = refs[worktree.ref], worktree.base_branch
    if not worktree.is_complete():
        return ""
    with contextlib.suppress(OverLimit), worktree.scan(tip) as scan:
        if scan.tree == commit_tree(worktree, tip) and scan.found.is_whole:
            return ""
    ref = salvage(worktree, project_paths.aside)
    worktree.create(onto, project_paths=project_paths, refs=refs)
    return ref
