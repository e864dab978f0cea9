"""Takes other commits into our branch: as a commit where git can, else as files that show the conflicts.

Rule: the merge is made in the mirror, and what lies in the worktree is committed before it makes way.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bot.domain.change import Objection
from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git_bytes
from bot.git.objects import write_commit
from bot.workspace.branch import base_with, date_of, kept, tree_of
from bot.workspace.capture import shown
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, ORIGIN
from bot.workspace.pending_merge import Pending
from bot.workspace.worktree import Worktree

_MARKER = "^(<<<<<<<|>>>>>>>) "
_CONFLICTED = 1
_NAMED = 8


class Taken(NamedTuple):
    """The refs as they are now, and what was in the way, if anything was."""

    refs: dict[str, str]
    pending: Pending | None = None
    """The merge that git could not finish."""
    held: tuple[Objection, ...] = ()
    """What lies in the worktree may not be committed, and so does not make way."""


def take_in(worktree: Worktree, refs: Mapping[str, str], *, onto: str, wanted: str = "") -> Taken:
    """First what others pushed to our own branch, then the branch `wanted`. Ends at the first conflict."""
    known = dict(refs)
    for name in (worktree.place.branch, wanted):
        if not name or not _is_missing(worktree, known, name):
            continue
        left, held = _leftovers(worktree, known)
        if held:
            return Taken(known, held=held)
        if left:
            worktree.mirror.update({worktree.ref: (left, known[worktree.ref])})
            known[worktree.ref] = left
        plan = _planned(worktree, known, name, onto)
        if plan.conflicts:
            return Taken(known, plan)
        known |= _land(worktree, known, plan)
    return Taken(known)


def check_resolved(repository: Path, pending: Pending, tree: str) -> None:
    """The agent's answer to a conflict, as far as it can be judged: no marker is left, and theirs is really in it."""
    marked = _marked(repository, tree) & set(pending.paths)
    if marked:
        # a file that is about such markers had them before
        marked -= _marked(repository, pending.ours) | _marked(repository, pending.theirs)
    if marked:
        raise NeedsHuman(f"Conflict markers are left in {_names(marked)}.")
    brought = _differing(repository, pending.ours, pending.tree) - set(pending.paths)
    if brought and not brought & _differing(repository, pending.ours, tree):
        raise NeedsHuman(f"Everything that {pending.branch} brings was taken out again: {_names(brought)}.")


def _is_missing(worktree: Worktree, refs: Mapping[str, str], name: str) -> bool:
    mirror, ours = worktree.mirror, refs[worktree.ref]
    theirs = refs.get(f"{ORIGIN}{name}", "")
    if name == worktree.place.branch:
        # ahead of us, and not adopted: work that is not committed is in the way, and is captured first
        return bool(theirs) and not mirror.is_ancestor(theirs, ours) and not mirror.is_ancestor(ours, theirs)
    if not theirs:
        raise NeedsHuman(f"There is no branch `{name}` any more to take in.")
    return not mirror.is_ancestor(theirs, ours)


def _leftovers(worktree: Worktree, refs: Mapping[str, str]) -> tuple[str, tuple[Objection, ...]]:
    """A commit of what lies in the worktree, on no branch yet, or why there may be none. Both empty: nothing does."""
    tip, base = refs[worktree.ref], refs[f"{BASES}{worktree.place.branch}"]
    if not worktree.is_whole():
        return "", ()
    with worktree.look(tip) as look:
        if look.tree == tree_of(worktree, tip):
            return "", ()
        guard = worktree.guard.within(look.quarantine.path).minding(base)
        held = guard.objections(look.tree, (tip, base))
        return "" if held else kept(worktree, look, tip), held


def _planned(worktree: Worktree, refs: Mapping[str, str], name: str, onto: str) -> Pending:
    ours, theirs = refs[worktree.ref], refs[f"{ORIGIN}{name}"]
    own = name == worktree.place.branch
    words = _merge_tree(worktree.mirror, ours, theirs)
    listed = list(_until_empty(words))
    tree, facts = listed[0], listed[1:]
    names = {ours: f"`{worktree.place.branch}`", theirs: "what others pushed" if own else f"`{name}`"}
    return Pending(
        ours=ours,
        theirs=theirs,
        branch=name,
        base=base_with(worktree, theirs, refs, onto) if own else theirs,
        tree=tree.decode(),
        paths=tuple(sorted({_path_in(fact) for fact in facts})),
        conflicts=tuple(_said(text, names) for kind, text in _messages(words) if kind.startswith(b"CONFLICT")),
    )


def _merge_tree(mirror: Mirror, ours: str, theirs: str) -> Iterator[bytes]:
    """What git prints, word by word: https://git-scm.com/docs/git-merge-tree#OUTPUT"""
    try:
        output = git_bytes(mirror.path, "merge-tree", "--write-tree", "-z", ours, theirs)
    except GitFailed as exc:
        if "unrelated histories" in exc.stderr:
            raise NeedsHuman("The two branches have no commit in common, so they cannot be merged.") from exc
        if exc.code != _CONFLICTED:
            raise
        output = exc.stdout
    return iter(output.split(b"\0"))


def _until_empty(words: Iterator[bytes]) -> Iterator[bytes]:
    for word in words:
        if not word:
            return
        yield word


def _messages(words: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The kind of each message, and its text."""
    for count in _until_empty(words):
        for _ in range(int(count)):
            next(words)
        yield next(words), next(words)


def _path_in(fact: bytes) -> str:
    return fact.partition(b"\t")[2].decode(errors="surrogateescape")


def _said(text: bytes, names: Mapping[str, str]) -> str:
    words = shown(text.rstrip(b"\n"))
    for commit, name in names.items():
        words = words.replace(f" {commit}", f" {name}")
    return words


def _land(worktree: Worktree, refs: Mapping[str, str], plan: Pending) -> dict[str, str]:
    """The worktree goes first: its files would look like the merge undone."""
    mirror, branch = worktree.mirror, worktree.place.branch
    own = plan.branch == branch
    message = f"Merge what others pushed to {branch}" if own else f"Merge {plan.branch} into {branch}"
    at = max(date_of(mirror, plan.ours), date_of(mirror, plan.theirs))
    head = write_commit(mirror.path, plan.tree, parents=(plan.ours, plan.theirs), message=message, at=at)
    made = {worktree.ref: head, f"{BASES}{branch}": plan.base}
    worktree.discard()
    mirror.update({name: (new, refs.get(name, "")) for name, new in made.items()})
    return made


def _marked(repository: Path, tree: str) -> set[str]:
    """Every file that holds a line like a conflict marker."""
    try:
        output = git_bytes(repository, "grep", "-z", "-l", "-I", "-E", _MARKER, tree)
    except GitFailed as exc:
        if exc.code != 1:
            raise
        return set()
    return {name.partition(b":")[2].decode(errors="surrogateescape") for name in output.split(b"\0") if name}


def _differing(repository: Path, one: str, other: str) -> set[str]:
    listing = git_bytes(repository, "diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other)
    return {name.decode(errors="surrogateescape") for name in listing.split(b"\0") if name}


def _names(paths: set[str]) -> str:
    names = [shown(path.encode(errors="surrogateescape")) for path in sorted(paths)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:_NAMED]) + more
