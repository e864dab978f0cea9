"""Puts work that is published nowhere on a ref that outlives its worktree. The same work is never kept twice."""

from bot.domain.salvage import Salvaged
from bot.git.command import git
from bot.workspace.branch import uncommitted
from bot.workspace.mirror import Mirror
from bot.workspace.paths import ORIGIN, PUSHED, SALVAGE, SALVAGED_AT, SHARED
from bot.workspace.worktree import Worktree


def salvage(worktree: Worktree) -> str:
    """The ref that has it; empty: there is nothing that would be lost."""
    mirror = worktree.mirror
    tip = mirror.refs(worktree.ref).get(worktree.ref, "")
    if not tip:
        return ""
    commit = uncommitted(worktree, tip) or tip
    if commit == tip and _is_published(mirror, worktree.place.branch, tip):
        return ""
    return keep(mirror, worktree.place.salvage, commit)


def keep(mirror: Mirror, prefix: str, commit: str) -> str:
    """Also what is kept already under something later: a removal that was cut off left only that to be seen."""
    known = mirror.refs(prefix)
    for ref, kept in known.items():
        if kept == commit:
            return ref
    holding = git(mirror.path, "for-each-ref", "--format=%(refname)", f"--contains={commit}", prefix).split()
    if holding:
        return max(holding, key=lambda ref: (len(ref), ref))  # by number
    ref = next_free(prefix, known)
    mirror.update({ref: (commit, "")})
    return ref


def next_free(prefix: str, known: "dict[str, str]") -> str:
    numbers = (ref.removeprefix(prefix) for ref in known)
    return f"{prefix}{1 + max((int(number) for number in numbers if number.isdigit()), default=0)}"


def find_salvaged(mirror: Mirror) -> tuple[Salvaged, ...]:
    """The older first, for each branch."""
    found = mirror.refs(SALVAGE, SALVAGED_AT, SHARED)
    kept = ((ref, commit) for ref, commit in found.items() if is_ours(ref))
    return tuple(sorted((_described(mirror, ref, commit, found) for ref, commit in kept), key=lambda one: one.order))


def is_ours(ref: str) -> bool:
    """By its name: others write to a remote as well."""
    return ref.startswith(SALVAGE) and ref.count("/") == SALVAGE.count("/") + 1 and ref.rpartition("/")[2].isdigit()


def note_times(mirror: Mirror, now: float, *refs: str) -> None:
    """From now on these are kept for their whole time, whatever was noted."""
    if not refs:
        return
    blob = git(mirror.path, "hash-object", "-w", "--stdin", stdin=f"{int(now)}\n".encode())
    known = mirror.refs(SALVAGED_AT)
    names = {beside(ref, SALVAGED_AT) for ref in refs}
    mirror.update({name: (blob, known.get(name, "")) for name in names if known.get(name) != blob})


def beside(ref: str, namespace: str) -> str:
    return namespace + ref.removeprefix(SALVAGE)


def _described(mirror: Mirror, ref: str, commit: str, refs: "dict[str, str]") -> Salvaged:
    noted = refs.get(beside(ref, SALVAGED_AT))
    at = float(git(mirror.path, "cat-file", "blob", noted)) if noted else 0.0
    files = git(mirror.path, "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-m", "-z", commit)
    return Salvaged(ref, commit, at, refs.get(beside(ref, SHARED)) == commit, len(set(files.split("\0")) - {""}))


def _is_published(mirror: Mirror, branch: str, tip: str) -> bool:
    """On any branch of the remote, or pushed once: what became of it there was people's doing."""
    return bool(git(mirror.path, "for-each-ref", "--count=1", f"--contains={tip}", ORIGIN, f"{PUSHED}{branch}"))
