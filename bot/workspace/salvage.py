"""Salvage: keeps unpublished work on a numbered ref that outlives its worktree, once.

Rule: what a commit cannot hold is set aside as it is, with the whole worktree.
"""

from pathlib import Path

from bot.domain.salvage import SalvagedWork
from bot.errors import OverLimit
from bot.git.command import git
from bot.git.objects import store_object
from bot.workspace.branch import commit_uncommitted
from bot.workspace.dropped import note_dropped
from bot.workspace.mirror import Mirror
from bot.workspace.paths import ORIGIN, PUSHED, SALVAGE, SALVAGE_DATES, SHARED, WORK_SUFFIX
from bot.workspace.worktree import Worktree

_SECONDS = 4.0
"""A person who has stopped a run waits for it, on a busy machine too."""


def salvage(worktree: Worktree, aside: Path) -> str:
    """Returns the ref; or the folder below `aside`, if a commit cannot hold everything.

    Empty if nothing would be lost.
    """
    tip = worktree.mirror.refs(worktree.ref).get(worktree.ref, "")
    if not tip:
        return ""
    note_dropped(worktree.mirror, worktree.paths.branch)
    folder = aside / f"{worktree.paths.folder.name}-{tip[:12]}{WORK_SUFFIX}"
    try:
        commit = commit_uncommitted(worktree, tip, seconds=_SECONDS) or tip
    except OverLimit:
        _keep_unpublished(worktree, tip, tip)
        return str(worktree.set_aside(folder))
    if not worktree.is_complete() and folder.is_dir():
        return str(folder)  # created by a call that was interrupted
    kept = _keep_unpublished(worktree, tip, commit)
    return kept if worktree.is_saved else str(worktree.set_aside(folder))


def _keep_unpublished(worktree: Worktree, tip: str, commit: str) -> str:
    if commit == tip and _is_published(worktree.mirror, worktree.paths.branch, tip):
        return ""
    return keep_commit(worktree.mirror, worktree.paths.salvage_prefix, commit)


def keep_commit(mirror: Mirror, prefix: str, commit: str) -> str:
    """Returns the ref that already contains the commit, or a new one."""
    known = mirror.refs(prefix)
    for ref, kept in known.items():
        if kept == commit:
            return ref
    holding = git(mirror.path, "for-each-ref", "--format=%(refname)", f"--contains={commit}", prefix).split()
    if holding:
        return max(holding, key=lambda ref: (len(ref), ref))  # sorted by number
    ref = next_free_ref(prefix, known)
    mirror.update_refs({ref: (commit, "")})
    return ref


def next_free_ref(prefix: str, known: "dict[str, str]") -> str:
    numbers = (ref.removeprefix(prefix) for ref in known)
    return f"{prefix}{1 + max((int(number) for number in numbers if number.isdigit()), default=0)}"


def list_salvaged(mirror: Mirror) -> tuple[SalvagedWork, ...]:
    """All salvaged work, oldest first for each branch."""
    found = mirror.refs(SALVAGE, SALVAGE_DATES, SHARED)
    kept = ((ref, commit) for ref, commit in found.items() if is_salvage_ref(ref))
    return tuple(sorted((_describe(mirror, ref, commit, found) for ref, commit in kept), key=lambda one: one.order))


def is_salvage_ref(ref: str) -> bool:
    """Checks the name, because others write refs to the remote as well."""
    return ref.startswith(SALVAGE) and ref.count("/") == SALVAGE.count("/") + 1 and ref.rpartition("/")[2].isdigit()


def record_dates(mirror: Mirror, now: float, *refs: str) -> None:
    """Records `now` as the date from which these refs are kept."""
    if not refs:
        return
    blob = store_object(mirror.path, "blob", f"{int(now)}\n".encode())
    known = mirror.refs(SALVAGE_DATES)
    names = {companion_ref(ref, SALVAGE_DATES) for ref in refs}
    mirror.update_refs({name: (blob, known.get(name, "")) for name in names if known.get(name) != blob})


def companion_ref(ref: str, namespace: str) -> str:
    return namespace + ref.removeprefix(SALVAGE)


def _describe(mirror: Mirror, ref: str, commit: str, refs: "dict[str, str]") -> SalvagedWork:
    noted = refs.get(companion_ref(ref, SALVAGE_DATES))
    at = float(git(mirror.path, "cat-file", "blob", noted)) if noted else 0.0
    files = git(mirror.path, "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-m", "-z", commit)
    return SalvagedWork(
        ref, commit, at, refs.get(companion_ref(ref, SHARED)) == commit, len(set(files.split("\0")) - {""})
    )


def _is_published(mirror: Mirror, branch: str, tip: str) -> bool:
    """Contained in a branch of the remote, or pushed by us before."""
    return bool(git(mirror.path, "for-each-ref", "--count=1", f"--contains={tip}", ORIGIN, f"{PUSHED}{branch}"))
