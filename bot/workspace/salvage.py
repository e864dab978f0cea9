"""Puts work that is published nowhere on a ref that outlives its worktree. The same work is never kept twice."""

from dataclasses import dataclass

from bot.workspace.branch import uncommitted
from bot.workspace.git import git
from bot.workspace.mirror import Mirror
from bot.workspace.places import ORIGIN, PUSHED, SALVAGE
from bot.workspace.worktree import Worktree


@dataclass(frozen=True, slots=True)
class Salvaged:
    """Work that waits to be brought back."""

    ref: str
    commit: str


def salvage(worktree: Worktree) -> str:
    """The ref that has it; empty: there is nothing that would be lost."""
    mirror = worktree.mirror
    tip = mirror.refs(worktree.ref).get(worktree.ref, "")
    if not tip:
        return ""
    commit = uncommitted(worktree, tip) or tip
    if commit == tip and _is_published(mirror, worktree.place.branch, tip):
        return ""
    return _kept(mirror, worktree.place.salvage, commit)


def find_salvaged(mirror: Mirror) -> tuple[Salvaged, ...]:
    return tuple(Salvaged(ref, commit) for ref, commit in sorted(mirror.refs(SALVAGE).items()))


def _is_published(mirror: Mirror, branch: str, tip: str) -> bool:
    """On any branch of the remote, or pushed once: what became of it there was people's doing."""
    return bool(git(mirror.path, "for-each-ref", "--count=1", f"--contains={tip}", ORIGIN, f"{PUSHED}{branch}"))


def _kept(mirror: Mirror, prefix: str, commit: str) -> str:
    known = mirror.refs(prefix)
    for ref, kept in known.items():
        if kept == commit:
            return ref
    number = 1 + max((int(ref.removeprefix(prefix)) for ref in known), default=0)
    mirror.update({f"{prefix}{number}": (commit, "")})
    return f"{prefix}{number}"
