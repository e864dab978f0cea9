"""The branch of a run: where it starts, what people add to it, and the one commit a turn makes."""

from collections.abc import Mapping

from bot.errors import NeedsHuman
from bot.ports import Remote
from bot.workspace.git import git
from bot.workspace.mirror import Mirror, shown_url
from bot.workspace.objects import write_commit
from bot.workspace.places import BASES, ORIGIN
from bot.workspace.worktree import Look, Worktree

_NAMED = 8


def find_base(mirror: Mirror, base: str, remote: Remote, refs: Mapping[str, str]) -> str:
    """The name of the branch to start from; empty asks for the remote's default."""
    there = sorted(name.removeprefix(ORIGIN) for name in refs if name.startswith(ORIGIN))
    where = shown_url(remote.url)
    if not there:
        raise NeedsHuman(f"{where} has no commits yet. Push a first one, then say `retry`.")
    found = base or mirror.default_branch(remote)
    if found not in there:
        names = ", ".join(f"`{name}`" for name in there[:_NAMED]) + (", ..." if len(there) > _NAMED else "")
        raise NeedsHuman(f"{where} has no branch `{found}`. It has {names}. Correct `base`, then say `retry`.")
    return found


def begin_branch(worktree: Worktree, onto: str, refs: Mapping[str, str]) -> dict[str, str]:
    """At the tip of `onto` as just fetched, or where the remote's branch of that name already is. The refs it made."""
    mirror, branch = worktree.mirror, worktree.place.branch
    start = refs[f"{ORIGIN}{onto}"]
    tip = refs.get(f"{ORIGIN}{branch}", start)
    base = mirror.common_ancestor(start, tip) or start
    made = {worktree.ref: tip, f"{BASES}{branch}": base}
    mirror.update({name: (new, refs.get(name, "")) for name, new in made.items()})
    return made


def adopt(worktree: Worktree, refs: Mapping[str, str]) -> dict[str, str]:
    """Take in what people pushed on top, unless work that is not committed is in the way. The refs it changed."""
    ours, theirs = refs[worktree.ref], refs.get(f"{ORIGIN}{worktree.place.branch}")
    if not theirs or theirs == ours or not worktree.mirror.is_ancestor(ours, theirs):
        return {}
    if worktree.is_whole():
        with worktree.look(ours) as look:
            if look.tree != tree_of(worktree, ours):
                return {}
    worktree.mirror.update({worktree.ref: (theirs, ours)})
    worktree.discard()
    return {worktree.ref: theirs}


def commit(worktree: Worktree, look: Look, *, tip: str, base: str, message: str, at: float) -> tuple[str, str]:
    """The tip before and after this turn. A repeat finds the commit it made the first time, and says the same."""
    mirror = worktree.mirror.path
    if look.tree != tree_of(worktree, tip):
        head = write_commit(mirror, look.tree, parent=tip, message=message, at=at)
        worktree.mirror.update({worktree.ref: (head, tip)})
        return tip, head
    if tip != base:
        parent = git(mirror, "rev-parse", f"{tip}^")
        if write_commit(mirror, look.tree, parent=parent, message=message, at=at) == tip:
            return parent, tip
    return tip, tip


def tree_of(worktree: Worktree, commit_id: str) -> str:
    return git(worktree.mirror.path, "rev-parse", f"{commit_id}^{{tree}}")
