"""A worktree after somebody worked in it: what a person did is found again, what a planning agent did is undone."""

from collections.abc import Mapping

from bot.git.command import git
from bot.workspace.branch import tree_of
from bot.workspace.mirror import Mirror
from bot.workspace.paths import Places
from bot.workspace.salvage import salvage
from bot.workspace.worktree import Worktree


def find_commit(mirror: Mirror, base: str, tip: str, *, message: str, at: float) -> str:
    """The one on the branch that was made of this; empty: there is none yet."""
    log = git(mirror.path, "log", "-z", "--first-parent", "--format=%H %ct %B", f"{base}..{tip}")
    for entry in log.split("\0"):
        commit, _, rest = entry.partition(" ")
        stamp, _, said = rest.partition(" ")
        if stamp == str(int(at)) and said.strip() == message.strip():
            return commit
    return ""


def put_back(worktree: Worktree, refs: Mapping[str, str], places: Places) -> str:
    """Made anew from the branch. Where what lay in it went; empty: it was as committed."""
    tip, onto = refs[worktree.ref], worktree.onto
    if not worktree.is_whole():
        return ""
    with worktree.look(tip) as look:
        if look.tree == tree_of(worktree, tip):
            return ""
    ref = salvage(worktree)
    worktree.make(onto, places=places, refs=refs)
    return ref
