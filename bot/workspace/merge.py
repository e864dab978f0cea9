"""Merges other commits into our branch: as a commit, or as files with conflict markers for the agent.

Rule: the merge is made in the mirror; uncommitted work is committed before the worktree is replaced. A branch that
people rewrote is not merged: our unpublished work is replanted on theirs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bot.domain.change import Objection
from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git_bytes
from bot.text.invisible_characters import printable_path
from bot.workspace.branch import base_after_merge, commit_date, commit_scan, commit_tree
from bot.workspace.dropped import is_rewritten, note_dropped
from bot.workspace.merge_trees import merge_trees
from bot.workspace.paths import BASES, ORIGIN, PUSHED
from bot.workspace.pending_merge import PendingMerge
from bot.workspace.replant import Replanting
from bot.workspace.worktree import Worktree

_CONFLICT_MARKER = "^(<<<<<<<|>>>>>>>) "
_MAX_LISTED = 8


class MergeResult(NamedTuple):
    """The refs after merging, and what prevented the merge."""

    refs: dict[str, str]
    pending: PendingMerge | None = None
    """The merge with conflicts."""
    objections: tuple[Objection, ...] = ()
    """Objections to committing the uncommitted work."""


def merge_incoming(worktree: Worktree, refs: Mapping[str, str], *, onto: str, wanted: str = "") -> MergeResult:
    """Takes in commits pushed to our branch, then the branch `wanted`. Stops at the first conflict."""
    known = dict(refs)
    for name in (worktree.paths.branch, wanted):
        if not name or not _needs_merge(worktree, known, name):
            continue
        commit, objections = _commit_uncommitted(worktree, known)
        if objections:
            return MergeResult(known, objections=objections)
        if commit:
            worktree.mirror.update_refs({worktree.ref: (commit, known[worktree.ref])})
            known[worktree.ref] = commit
        plan, head = _plan(worktree, known, name, onto)
        if plan.conflicts:
            return MergeResult(known, plan)
        known |= _move_to(worktree, known, plan, head)
    return MergeResult(known)


def check_conflicts_resolved(repository: Path, pending: PendingMerge, tree: str) -> None:
    """Raises NeedsHuman if conflict markers are left, or if nothing of the incoming changes is in the tree."""
    marked = _files_with_markers(repository, tree) & set(pending.paths)
    if marked:
        # a file about conflict markers had them before
        marked -= _files_with_markers(repository, pending.ours) | _files_with_markers(repository, pending.theirs)
    if marked:
        raise NeedsHuman(f"Conflict markers are left in {_join_names(marked)}.")
    brought = _changed_paths(repository, pending.ours, pending.tree) - set(pending.paths)
    if brought and not brought & _changed_paths(repository, pending.ours, tree):
        raise NeedsHuman(f"The merge result contains none of {pending.branch}'s changes to {_join_names(brought)}.")


def _needs_merge(worktree: Worktree, refs: Mapping[str, str], name: str) -> bool:
    mirror, ours = worktree.mirror, refs[worktree.ref]
    theirs = refs.get(f"{ORIGIN}{name}", "")
    if name == worktree.paths.branch:
        # their branch is ahead but not adopted: uncommitted work is captured first
        has_parted = bool(theirs) and not mirror.is_ancestor(theirs, ours) and not mirror.is_ancestor(ours, theirs)
        return has_parted or is_rewritten(mirror, name, refs)
    if not theirs:
        raise NeedsHuman(f"The branch `{name}` to merge no longer exists.")
    return not mirror.is_ancestor(theirs, ours)


def _commit_uncommitted(worktree: Worktree, refs: Mapping[str, str]) -> tuple[str, tuple[Objection, ...]]:
    """Returns a commit of uncommitted work, on no branch yet, or the objections to it. Empty without such work."""
    tip, base = refs[worktree.ref], refs[f"{BASES}{worktree.paths.branch}"]
    if not worktree.is_complete():
        return "", ()
    guard = worktree.guard.with_repository_rules(base)
    with worktree.scan(tip, guard.order("", (tip, base))) as scan:
        worktree.note_unsaved(scan.found)
        if scan.tree == commit_tree(worktree, tip):
            return "", ()
        return "" if scan.found.objections else commit_scan(worktree, scan, tip), scan.found.objections


def _plan(worktree: Worktree, refs: Mapping[str, str], name: str, onto: str) -> tuple[PendingMerge, str]:
    """Returns what will be on the branch, and the commit of it; without a commit there are conflicts."""
    branch, mirror = worktree.paths.branch, worktree.mirror
    ours, theirs = refs[worktree.ref], refs[f"{ORIGIN}{name}"]
    base = base_after_merge(worktree, theirs, refs, onto) if name == branch else theirs
    if name == branch and is_rewritten(mirror, branch, refs):
        note_dropped(mirror, branch)
        return Replanting(worktree, refs, base).plan()
    called = {ours: f"`{branch}`", theirs: "the pushed commits" if name == branch else f"`{name}`"}
    tree, paths, conflicts = merge_trees(mirror.path, ours, theirs, called)
    plan = PendingMerge(ours, theirs, name, base, tree, paths, conflicts)
    return plan, "" if conflicts else _write_merge(worktree, plan)


def _write_merge(worktree: Worktree, plan: PendingMerge) -> str:
    mirror, branch = worktree.mirror, worktree.paths.branch
    own = plan.branch == branch
    message = f"Merge commits pushed to {branch}" if own else f"Merge {plan.branch} into {branch}"
    at = max(commit_date(mirror, plan.ours), commit_date(mirror, plan.theirs))
    return mirror.commit(plan.tree, parents=plan.parents, message=message, at=at)


def _move_to(worktree: Worktree, refs: Mapping[str, str], plan: PendingMerge, head: str) -> dict[str, str]:
    """Discards the worktree first: its files would look like the merge undone."""
    branch = worktree.paths.branch
    made = {worktree.ref: head, f"{BASES}{branch}": plan.base}
    if plan.branch == branch:
        made[f"{PUSHED}{branch}"] = plan.theirs
    worktree.discard()
    worktree.mirror.update_refs({name: (new, refs.get(name, "")) for name, new in made.items()})
    return made


def _files_with_markers(repository: Path, tree: str) -> set[str]:
    """Returns the files that contain a conflict marker."""
    try:
        output = git_bytes(repository, "grep", "-z", "-l", "-I", "-E", _CONFLICT_MARKER, tree)
    except GitFailed as exc:
        if exc.code != 1:
            raise
        return set()
    return {name.partition(b":")[2].decode(errors="surrogateescape") for name in output.split(b"\0") if name}


def _changed_paths(repository: Path, one: str, other: str) -> set[str]:
    listing = git_bytes(repository, "diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other)
    return {name.decode(errors="surrogateescape") for name in listing.split(b"\0") if name}


def _join_names(paths: set[str]) -> str:
    names = [printable_path(path.encode(errors="surrogateescape")) for path in sorted(paths)]
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(f"`{name}`" for name in names[:_MAX_LISTED]) + more
