"""Salvaged work off this machine: shared with the remote, found again there, and taken away when its time is over.

Rule: callers have it judged first; what somebody else put there under the same name stays.
"""

from bot.domain.remote import Remote
from bot.domain.salvage import Salvaged
from bot.errors import NeedsHuman, Retryable
from bot.git.command import GitFailed, git
from bot.workspace.mirror import Mirror, cannot_reach
from bot.workspace.paths import SALVAGE, SALVAGED_AT, SHARED
from bot.workspace.salvage import beside, is_ours, next_free

_PUSH_SECONDS = 900
_LOOK_SECONDS = 120


def share(mirror: Mirror, ref: str, remote: Remote) -> str:
    """The name it has at the remote, and here as well by then: another one where other work is at its own."""
    commit = mirror.refs(ref).get(ref, "")
    if not commit:
        raise Retryable(f"{ref} is not here any more.")
    if _push(mirror, remote, ref, new=commit, old=""):
        _note_shared(mirror, ref, commit)
        return ref
    there = look(mirror, remote)
    if there.get(ref) != commit:
        ref = _renamed(mirror, ref, commit, there)
        if not _push(mirror, remote, ref, new=commit, old=""):
            raise Retryable(f"{ref} was taken at the remote in this moment.")
    _note_shared(mirror, ref, commit)
    return ref


def look(mirror: Mirror, remote: Remote) -> dict[str, str]:
    """The salvaged work that is there, with its commits."""
    try:
        answer = git(mirror.path, "ls-remote", remote.url, f"{SALVAGE}*", env=remote.env, timeout=_LOOK_SECONDS)
    except GitFailed as exc:
        raise cannot_reach(remote, exc) from exc
    found = (line.partition("\t") for line in answer.splitlines())
    return {ref: commit for commit, _, ref in found if is_ours(ref)}


def fetch_shared(mirror: Mirror, remote: Remote) -> None:
    """What the remote has and this machine does not: it lost its memory, or another one put it there."""
    there, here = look(mirror, remote), mirror.refs(SALVAGE)
    missing = sorted(there.keys() - here.keys())
    for ref in missing:
        mirror.fetch_ref(remote, ref)
        _note_shared(mirror, ref, mirror.refs(ref)[ref])


def withdraw(mirror: Mirror, ref: str, remote: Remote) -> None:
    """Away from the remote, if it is still what we put there."""
    name = beside(ref, SHARED)
    commit = mirror.refs(name).get(name, "")
    if commit:
        _push(mirror, remote, ref, new="", old=commit)


def forget(mirror: Mirror, one: Salvaged, noted: str) -> None:
    """Away from here. `noted`: since when it was kept, as judged; git refuses if it is kept anew by now."""
    gone = {one.ref: one.commit, beside(one.ref, SALVAGED_AT): noted, **mirror.refs(beside(one.ref, SHARED))}
    mirror.update({name: ("", old) for name, old in gone.items()})


def _push(mirror: Mirror, remote: Remote, ref: str, *, new: str, old: str) -> bool:
    """False: something else is there."""
    mirror.fence()
    try:
        git(
            mirror.path, "push", "--quiet", "--no-verify", f"--force-with-lease={ref}:{old}", remote.url,
            f"{new}:{ref}", env=remote.env, timeout=_PUSH_SECONDS,
        )  # fmt: skip
    except GitFailed as exc:
        if "stale info" in exc.stderr or "already exists" in exc.stderr:
            return False
        if "rejected]" in exc.stderr:
            raise NeedsHuman("the repository does not take it") from exc
        raise cannot_reach(remote, exc) from exc
    return True


def _renamed(mirror: Mirror, ref: str, commit: str, there: dict[str, str]) -> str:
    prefix = ref.rpartition("/")[0] + "/"
    taken = {name: sha for name, sha in (*there.items(), *mirror.refs(prefix).items()) if name.startswith(prefix)}
    new = next_free(prefix, taken)
    known = mirror.refs(beside(ref, SALVAGED_AT))
    moved = {beside(new, SALVAGED_AT): (sha, "") for sha in known.values()}
    mirror.update({new: (commit, ""), ref: ("", commit), **moved, **{name: ("", sha) for name, sha in known.items()}})
    return new


def _note_shared(mirror: Mirror, ref: str, commit: str) -> None:
    name = beside(ref, SHARED)
    known = mirror.refs(name).get(name, "")
    if known != commit:
        mirror.update({name: (commit, known)})
