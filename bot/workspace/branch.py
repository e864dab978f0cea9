"""The branch of a run: its base, commits that people pushed to it, and the one commit per turn."""

from collections.abc import Mapping

from bot.domain.remote import Remote
from bot.errors import NeedsHuman, NoBranch
from bot.git.command import git
from bot.git.in_child import MAX_SECONDS
from bot.workspace.dropped import note_dropped
from bot.workspace.mirror import Mirror, url_without_credential
from bot.workspace.paths import BASES, BRANCHES, EVICTED, ORIGIN, PUSHED
from bot.workspace.pending_merge import PendingMerge
from bot.workspace.worktree import Worktree, WorktreeScan


def find_base(mirror: Mirror, base: str, remote: Remote, refs: Mapping[str, str]) -> str:
    """Returns the branch to start from; the remote's default if `base` is empty.

    Refuses our own branches: agents wrote them and no person has merged them.
    """
    if not any(name.startswith(ORIGIN) for name in refs):
        where = url_without_credential(remote.url)
        raise NeedsHuman(f"{where} has no commits yet. Push a first commit, then retry the run.")
    found = base or mirror.default_branch(remote)
    if f"refs/heads/{found}".startswith(BRANCHES):
        raise NeedsHuman(f"`{found}` is a branch of Treehand: merge it first. Correct `base`, then retry the run.")
    if f"{ORIGIN}{found}" not in refs:
        raise NoBranch(found)
    return found


def begin_branch(worktree: Worktree, onto: str, refs: Mapping[str, str]) -> dict[str, str]:
    """Creates the branch at the fetched tip of `onto`, or at the remote's branch of that name. Returns the new refs."""
    mirror, branch = worktree.mirror, worktree.paths.branch
    start = refs[f"{ORIGIN}{onto}"]
    tip = refs.get(f"{ORIGIN}{branch}", start)
    base = mirror.common_ancestor(start, tip) or start
    made = {worktree.ref: tip, f"{BASES}{branch}": base}
    if f"{ORIGIN}{branch}" in refs:
        made[f"{PUSHED}{branch}"] = tip
    mirror.update_refs({name: (new, refs.get(name, "")) for name, new in made.items()})
    return made


def ensure_base(worktree: Worktree, onto: str, refs: Mapping[str, str]) -> dict[str, str]:
    """Returns the base if it had to be made again: git updates refs one by one, and may have ended in between."""
    mirror, name = worktree.mirror, f"{BASES}{worktree.paths.branch}"
    if name in refs:
        return {}
    tip = refs[worktree.ref]
    start = refs.get(f"{ORIGIN}{onto}", tip)
    base = mirror.common_ancestor(start, tip) or start
    mirror.update_refs({name: (base, "")})
    return {name: base}


def adopt_pushed(worktree: Worktree, refs: Mapping[str, str], onto: str) -> dict[str, str]:
    """Moves our branch to what people pushed, if no work of ours is lost. Returns the changed refs."""
    mirror, branch = worktree.mirror, worktree.paths.branch
    ours, theirs = refs[worktree.ref], refs.get(f"{ORIGIN}{branch}")
    if not theirs or theirs == ours:
        return {}
    # people may also rewrite commits that were pushed before
    if not mirror.is_ancestor(ours, theirs) and refs.get(f"{PUSHED}{branch}") != ours:
        return {}
    if has_uncommitted(worktree, ours):
        return {}
    base = base_after_merge(worktree, theirs, refs, onto)
    made = {worktree.ref: theirs, f"{BASES}{branch}": base, f"{PUSHED}{branch}": theirs}
    note_dropped(mirror, branch)
    # first: the files of the worktree would undo their commits
    worktree.discard()
    mirror.update_refs({name: (new, refs.get(name, "")) for name, new in made.items()})
    return made


def forget_deleted(worktree: Worktree, refs: Mapping[str, str]) -> dict[str, str]:
    """Lets a branch that people deleted be published again: a turn begins only if they want more. Returns all refs."""
    branch = worktree.paths.branch
    published = "" if f"{ORIGIN}{branch}" in refs else refs.get(f"{PUSHED}{branch}", "")
    if published:
        worktree.mirror.update_refs({f"{PUSHED}{branch}": ("", published)})
    return {name: at for name, at in refs.items() if not (published and name == f"{PUSHED}{branch}")}


def base_after_merge(worktree: Worktree, theirs: str, refs: Mapping[str, str], onto: str) -> str:
    """Returns the branch's base after merging `theirs`: people may have merged the base branch, or rebased."""
    mirror, base = worktree.mirror, refs[f"{BASES}{worktree.paths.branch}"]
    start = refs.get(f"{ORIGIN}{onto}")
    found = mirror.common_ancestor(start, theirs) if start else ""
    published = refs.get(f"{PUSHED}{worktree.paths.branch}", "")
    is_removed = bool(published) and mirror.is_ancestor(base, published) and not mirror.is_ancestor(base, theirs)
    return found if found and (is_removed or mirror.is_ancestor(base, found)) else base


def commit_turn(
    worktree: Worktree,
    scan: WorktreeScan,
    refs: Mapping[str, str],
    *,
    message: str,
    at: float,
    pending: PendingMerge | None,
) -> tuple[str, str]:
    """Returns the tip before and after this turn. A repeat finds the commit of the first call and returns the same."""
    mirror, tip = worktree.mirror, refs[worktree.ref]
    base, published = (f"{where}{worktree.paths.branch}" for where in (BASES, PUSHED))
    scan.quarantine.accept()
    if pending:
        head = mirror.commit(scan.tree, parents=pending.parents, message=message, at=at)
        changes = {worktree.ref: (head, tip), base: (pending.base, refs[base])}
        if pending.branch == worktree.paths.branch:
            changes[published] = (pending.theirs, refs.get(published, ""))
        mirror.update_refs(changes)
        return tip, head
    if scan.tree != commit_tree(worktree, tip):
        head = mirror.commit(scan.tree, parents=(tip,), message=message, at=at)
        mirror.update_refs({worktree.ref: (head, tip)})
        return tip, head
    if tip != refs[base]:
        made_on = git(mirror.path, "rev-parse", f"{tip}^@").split()
        if made_on and mirror.commit(scan.tree, parents=made_on, message=message, at=at) == tip:
            return made_on[0], tip
    return tip, tip


def has_uncommitted(worktree: Worktree, tip: str) -> bool:
    if not worktree.is_complete():
        return False
    with worktree.scan(tip) as scan:
        worktree.note_unsaved(scan.found)
        return scan.tree != commit_tree(worktree, tip)


def commit_uncommitted(worktree: Worktree, tip: str, *, seconds: float = MAX_SECONDS) -> str:
    """Commits uncommitted work on top of the tip, on no branch. Returns the commit; empty if there is no such work.

    It has the tip's date, so that the same work gives the same id. For an evicted worktree: the commit made then.
    """
    if not worktree.is_complete():
        parked = f"{EVICTED}{worktree.paths.branch}"
        return worktree.mirror.refs(parked).get(parked, "")
    with worktree.scan(tip, seconds=seconds) as scan:
        worktree.note_unsaved(scan.found)
        return commit_scan(worktree, scan, tip) if scan.tree != commit_tree(worktree, tip) else ""


def commit_scan(worktree: Worktree, scan: WorktreeScan, tip: str) -> str:
    mirror = worktree.mirror
    scan.quarantine.accept()
    message = f"Work on {worktree.paths.branch} that was not committed"
    return mirror.commit(scan.tree, parents=(tip,), message=message, at=commit_date(mirror, tip))


def commit_date(mirror: Mirror, commit_id: str) -> float:
    return float(git(mirror.path, "show", "--no-patch", "--format=%ct", commit_id))


def commit_tree(worktree: Worktree, commit_id: str) -> str:
    return git(worktree.mirror.path, "rev-parse", f"{commit_id}^{{tree}}")
