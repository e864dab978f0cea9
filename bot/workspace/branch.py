"""The branch of a run: where it starts, what people add to it, and the one commit a turn makes."""

from collections.abc import Mapping

from bot.domain.remote import Remote
from bot.errors import NeedsHuman
from bot.git.command import git
from bot.git.objects import write_commit
from bot.workspace.mirror import Mirror, shown_url
from bot.workspace.paths import BASES, BRANCHES, ORIGIN, PARKED, PUSHED
from bot.workspace.pending_merge import Pending
from bot.workspace.worktree import Look, Worktree

_NAMED = 8


def find_base(mirror: Mirror, base: str, remote: Remote, refs: Mapping[str, str]) -> str:
    """The name of the branch to start from; empty asks for the remote's default.

    What lies on a branch of ours is an agent's, and nobody has merged it: it tells no other what to do.
    """
    there = sorted(name.removeprefix(ORIGIN) for name in refs if name.startswith(ORIGIN))
    where = shown_url(remote.url)
    if not there:
        raise NeedsHuman(f"{where} has no commits yet. Push a first one, then say `retry`.")
    found = base or mirror.default_branch(remote)
    if f"refs/heads/{found}".startswith(BRANCHES):
        raise NeedsHuman(f"`{found}` is one of my own branches: merge it first. Correct `base`, then say `retry`.")
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


def adopt(worktree: Worktree, refs: Mapping[str, str], onto: str) -> dict[str, str]:
    """Take what people pushed for ours, where nothing of ours is lost by it. The refs it changed."""
    mirror, branch = worktree.mirror, worktree.place.branch
    ours, theirs = refs[worktree.ref], refs.get(f"{ORIGIN}{branch}")
    if not theirs or theirs == ours:
        return {}
    # also where they rewrote it: what was published once is theirs to change
    if not mirror.is_ancestor(ours, theirs) and refs.get(f"{PUSHED}{branch}") != ours:
        return {}
    if has_uncommitted(worktree, ours):
        return {}
    made = {worktree.ref: theirs, f"{BASES}{branch}": base_with(worktree, theirs, refs, onto)}
    # first, because its files would look like theirs undone
    worktree.discard()
    mirror.update({name: (new, refs.get(name, "")) for name, new in made.items()})
    return made


def base_with(worktree: Worktree, theirs: str, refs: Mapping[str, str], onto: str) -> str:
    """Where the branch starts from once it holds `theirs`: people may have taken the base in there."""
    mirror, base = worktree.mirror, refs[f"{BASES}{worktree.place.branch}"]
    start = refs.get(f"{ORIGIN}{onto}")
    found = mirror.common_ancestor(start, theirs) if start else ""
    return found if found and mirror.is_ancestor(base, found) else base


def commit(
    worktree: Worktree, look: Look, refs: Mapping[str, str], *, message: str, at: float, pending: Pending | None
) -> tuple[str, str]:
    """The tip before and after this turn. A repeat finds the commit it made the first time, and says the same."""
    mirror, base = worktree.mirror.path, f"{BASES}{worktree.place.branch}"
    tip = refs[worktree.ref]
    look.quarantine.accept()
    if pending:
        parents = (pending.ours, pending.theirs)
        head = write_commit(mirror, look.tree, parents=parents, message=message, at=at)
        worktree.mirror.update({worktree.ref: (head, tip), base: (pending.base, refs[base])})
        return tip, head
    if look.tree != tree_of(worktree, tip):
        head = write_commit(mirror, look.tree, parents=(tip,), message=message, at=at)
        worktree.mirror.update({worktree.ref: (head, tip)})
        return tip, head
    if tip != refs[base]:
        made_on = git(mirror, "rev-parse", f"{tip}^@").split()
        if made_on and write_commit(mirror, look.tree, parents=made_on, message=message, at=at) == tip:
            return made_on[0], tip
    return tip, tip


def has_uncommitted(worktree: Worktree, tip: str) -> bool:
    if not worktree.is_whole():
        return False
    with worktree.look(tip) as look:
        return look.tree != tree_of(worktree, tip)


def uncommitted(worktree: Worktree, tip: str) -> str:
    """A commit of what lies in the worktree on top of the tip, on no branch yet; empty: nothing does.

    Its date is the tip's: the same work is the same commit. Of one that was taken away to make room: what lay in it.
    """
    if not worktree.is_whole():
        parked = f"{PARKED}{worktree.place.branch}"
        return worktree.mirror.refs(parked).get(parked, "")
    with worktree.look(tip) as look:
        return kept(worktree, look, tip) if look.tree != tree_of(worktree, tip) else ""


def kept(worktree: Worktree, look: Look, tip: str) -> str:
    mirror = worktree.mirror
    look.quarantine.accept()
    message = f"Work on {worktree.place.branch} that was not committed"
    return write_commit(mirror.path, look.tree, parents=(tip,), message=message, at=date_of(mirror, tip))


def date_of(mirror: Mirror, commit_id: str) -> float:
    return float(git(mirror.path, "show", "--no-patch", "--format=%ct", commit_id))


def tree_of(worktree: Worktree, commit_id: str) -> str:
    return git(worktree.mirror.path, "rev-parse", f"{commit_id}^{{tree}}")
