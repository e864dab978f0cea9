"""Salvaged work at the remote: shares it, lists and fetches it, and deletes it when its retention is over.

Rule: callers ask the publish guard first; refs that others pushed under the same name stay.
"""

from bot.domain.remote import Remote
from bot.domain.salvage import SalvagedWork
from bot.errors import NeedsHuman, Retryable
from bot.git.command import GitFailed, git
from bot.workspace.lfs_remote import upload_objects
from bot.workspace.mirror import Mirror, remote_error
from bot.workspace.paths import SALVAGE, SALVAGE_DATES, SHARED
from bot.workspace.salvage import companion_ref, is_salvage_ref, next_free_ref

_PUSH_SECONDS = 900
_LIST_SECONDS = 120


def share(mirror: Mirror, ref: str, remote: Remote) -> str:
    """Pushes it. Returns its name there and here: a new number if the remote has other work under the old one."""
    commit = mirror.refs(ref).get(ref, "")
    if not commit:
        raise Retryable(f"{ref} no longer exists on this machine.")
    if _push(mirror, remote, ref, new=commit, old=""):
        _record_shared(mirror, ref, commit)
        return ref
    there = list_remote(mirror, remote)
    if there.get(ref) != commit:
        ref = _rename(mirror, ref, commit, there)
        if not _push(mirror, remote, ref, new=commit, old=""):
            raise Retryable(f"{ref} was created at the remote at the same moment.")
    _record_shared(mirror, ref, commit)
    return ref


def list_remote(mirror: Mirror, remote: Remote) -> dict[str, str]:
    """Returns the commits of the remote's salvaged work, by ref."""
    try:
        answer = git(mirror.path, "ls-remote", remote.url, f"{SALVAGE}*", env=remote.env, timeout=_LIST_SECONDS)
    except GitFailed as exc:
        raise remote_error(remote, exc) from exc
    found = (line.partition("\t") for line in answer.splitlines())
    return {ref: commit for commit, _, ref in found if is_salvage_ref(ref)}


def fetch_shared(mirror: Mirror, remote: Remote) -> None:
    """Fetches refs that only the remote has: this machine lost its state, or another one pushed them."""
    there, here = list_remote(mirror, remote), mirror.refs(SALVAGE)
    missing = sorted(there.keys() - here.keys())
    for ref in missing:
        mirror.fetch_ref(remote, ref)
        _record_shared(mirror, ref, mirror.refs(ref)[ref])


def delete_remote(mirror: Mirror, ref: str, remote: Remote) -> None:
    """Deletes it at the remote if it is unchanged."""
    name = companion_ref(ref, SHARED)
    commit = mirror.refs(name).get(name, "")
    if commit:
        _push(mirror, remote, ref, new="", old=commit)


def delete_local(mirror: Mirror, one: SalvagedWork, noted: str) -> None:
    """Deletes it here. `noted`: its date when it was judged; git refuses if that has changed."""
    gone = {
        one.ref: one.commit,
        companion_ref(one.ref, SALVAGE_DATES): noted,
        **mirror.refs(companion_ref(one.ref, SHARED)),
    }
    mirror.update_refs({name: ("", old) for name, old in gone.items()})


def _push(mirror: Mirror, remote: Remote, ref: str, *, new: str, old: str) -> bool:
    """Returns False if the remote has something else there."""
    mirror.check_lease()
    if new:
        upload_objects(mirror, remote, new)
    try:
        git(
            mirror.path, "push", "--quiet", "--no-verify", f"--force-with-lease={ref}:{old}", remote.url,
            f"{new}:{ref}", env=remote.env, timeout=_PUSH_SECONDS,
        )  # fmt: skip
    except GitFailed as exc:
        if "stale info" in exc.stderr or "already exists" in exc.stderr:
            return False
        if "rejected]" in exc.stderr:
            raise NeedsHuman("the repository rejected the push") from exc
        raise remote_error(remote, exc) from exc
    return True


def _rename(mirror: Mirror, ref: str, commit: str, there: dict[str, str]) -> str:
    prefix = ref.rpartition("/")[0] + "/"
    taken = {name: sha for name, sha in (*there.items(), *mirror.refs(prefix).items()) if name.startswith(prefix)}
    new = next_free_ref(prefix, taken)
    known = mirror.refs(companion_ref(ref, SALVAGE_DATES))
    moved = {companion_ref(new, SALVAGE_DATES): (sha, "") for sha in known.values()}
    mirror.update_refs(
        {new: (commit, ""), ref: ("", commit), **moved, **{name: ("", sha) for name, sha in known.items()}}
    )
    return new


def _record_shared(mirror: Mirror, ref: str, commit: str) -> None:
    name = companion_ref(ref, SHARED)
    known = mirror.refs(name).get(name, "")
    if known != commit:
        mirror.update_refs({name: (commit, known)})
