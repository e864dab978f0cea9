"""Merges other commits into our branch: as a commit, or as files with conflict markers for the agent.

Rule: the merge is made in the mirror; uncommitted work is committed before the worktree is replaced.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bot.domain.change import Objection
from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git_bytes
from bot.git.commit import write_commit
from bot.text.invisible_characters import printable_path
from bot.workspace.branch import base_after_merge, commit_date, commit_scan, commit_tree
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, ORIGIN
from bot.workspace.pending_merge import PendingMerge
from bot.workspace.worktree import Worktree

_CONFLICT_MARKER = "^(<<<<<<<|>>>>>>>) "
_EXIT_CONFLICT = 1
_MAX_LISTED = 8


class MergeResult(NamedTuple):
    """The refs after merging, and what prevented the merge."""

    refs: dict[str, str]
    pending: PendingMerge | None = None
    """The merge with conflicts."""
    objections: tuple[Objection, ...] = ()
    """Objections to committing the uncommitted work."""


def merge_incoming(worktree: Worktree, refs: Mapping[str, str], *, onto: str, wanted: str = "") -> MergeResult:
    """Merges commits pushed to our branch, then the branch `wanted`. Stops at the first conflict."""
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
        plan = _plan_merge(worktree, known, name, onto)
        if plan.conflicts:
            return MergeResult(known, plan)
        known |= _commit_merge(worktree, known, plan)
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
        return bool(theirs) and not mirror.is_ancestor(theirs, ours) and not mirror.is_ancestor(ours, theirs)
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
        if scan.tree == commit_tree(worktree, tip):
            return "", ()
        return "" if scan.found.objections else commit_scan(worktree, scan, tip), scan.found.objections


def _plan_merge(worktree: Worktree, refs: Mapping[str, str], name: str, onto: str) -> PendingMerge:
    ours, theirs = refs[worktree.ref], refs[f"{ORIGIN}{name}"]
    own = name == worktree.paths.branch
    words = _merge_tree(worktree.mirror, ours, theirs)
    listed = list(_until_empty(words))
    tree, facts = listed[0], listed[1:]
    names = {ours: f"`{worktree.paths.branch}`", theirs: "the pushed commits" if own else f"`{name}`"}
    return PendingMerge(
        ours=ours,
        theirs=theirs,
        branch=name,
        base=base_after_merge(worktree, theirs, refs, onto) if own else theirs,
        tree=tree.decode(),
        paths=tuple(sorted({_path_in(fact) for fact in facts})),
        conflicts=tuple(_conflict_text(text, names) for kind, text in _messages(words) if kind.startswith(b"CONFLICT")),
    )


def _merge_tree(mirror: Mirror, ours: str, theirs: str) -> Iterator[bytes]:
    """Yields git's output, word by word: https://git-scm.com/docs/git-merge-tree#OUTPUT"""
    try:
        output = git_bytes(mirror.path, "merge-tree", "--write-tree", "-z", ours, theirs)
    except GitFailed as exc:
        if "unrelated histories" in exc.stderr:
            raise NeedsHuman("The two branches have no commit in common, so they cannot be merged.") from exc
        if exc.code != _EXIT_CONFLICT:
            raise
        output = exc.stdout
    return iter(output.split(b"\0"))


def _until_empty(words: Iterator[bytes]) -> Iterator[bytes]:
    for word in words:
        if not word:
            return
        yield word


def _messages(words: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yields the kind and text of each message."""
    for count in _until_empty(words):
        for _ in range(int(count)):
            next(words)
        yield next(words), next(words)


def _path_in(fact: bytes) -> str:
    return fact.partition(b"\t")[2].decode(errors="surrogateescape")


def _conflict_text(text: bytes, names: Mapping[str, str]) -> str:
    words = printable_path(text.rstrip(b"\n"))
    for commit, name in names.items():
        words = words.replace(f" {commit}", f" {name}")
    return words


def _commit_merge(worktree: Worktree, refs: Mapping[str, str], plan: PendingMerge) -> dict[str, str]:
    """Discards the worktree first: its files would look like the merge undone."""
    mirror, branch = worktree.mirror, worktree.paths.branch
    own = plan.branch == branch
    message = f"Merge commits pushed to {branch}" if own else f"Merge {plan.branch} into {branch}"
    at = max(commit_date(mirror, plan.ours), commit_date(mirror, plan.theirs))
    head = write_commit(mirror.path, plan.tree, parents=(plan.ours, plan.theirs), message=message, at=at)
    made = {worktree.ref: head, f"{BASES}{branch}": plan.base}
    worktree.discard()
    mirror.update_refs({name: (new, refs.get(name, "")) for name, new in made.items()})
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
