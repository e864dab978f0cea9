"""Objects of Git LFS at a remote: uploads those of new commits, and downloads those that are missing.

Rule: a remote on this machine is a folder, and its objects are copied. For others git-lfs is needed; it reads no
settings of the repository, because a mirror has no files.
"""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

from bot.domain.remote import Remote
from bot.errors import NeedsHuman
from bot.git.command import GitFailed, git
from bot.git.commit_files import index_of_commit
from bot.git.lfs import LfsObjects, Pointer, lfs_objects, pointers_in, pointers_of
from bot.workspace.mirror import Mirror, url_without_credential
from bot.workspace.paths import ORIGIN

log = logging.getLogger(__name__)

_SECONDS = 1800
_AT_ONCE = 200
"""Objects of one command."""


def has_program() -> bool:
    return shutil.which("git-lfs") is not None


def upload_objects(mirror: Mirror, remote: Remote, commit: str) -> None:
    """Uploads the objects of a commit that the remote's branches do not name. Raises NeedsHuman if they are refused."""
    objects = lfs_objects(mirror.path)
    if not objects.exist:
        return
    named = pointers_in(mirror.path, commit, "--not", f"--glob={ORIGIN}*")
    wanted = sorted(pointer for pointer in named if objects.find(pointer))
    if Path(remote.url).is_dir():
        for pointer in wanted:
            if place := objects.find(pointer):
                lfs_objects(Path(remote.url)).take(pointer, place)
    elif wanted:
        _push(mirror, remote, wanted)


def _push(mirror: Mirror, remote: Remote, wanted: Sequence[Pointer]) -> None:
    where = url_without_credential(remote.url)
    if not has_program():
        raise NeedsHuman(
            f"{len(wanted)} objects of Git LFS cannot be uploaded to {where}, so nothing was pushed: install git-lfs "
            "on the machine where Treehand runs, then comment to retry."
        )
    for start in range(0, len(wanted), _AT_ONCE):
        oids = [pointer.oid for pointer in wanted[start : start + _AT_ONCE]]
        try:
            git(mirror.path, "lfs", "push", "--object-id", remote.url, *oids, env=remote.env, timeout=_SECONDS)
        except GitFailed as exc:
            message = " ".join(exc.stderr.replace(remote.url, where).split())[-300:]
            raise NeedsHuman(
                f"{where} did not take the objects of Git LFS, so nothing was pushed: {message}. Check that Git LFS is "
                "enabled there, then comment to retry."
            ) from exc


def known_objects(mirror: Mirror) -> LfsObjects:
    """Objects on this machine that may not be in the mirror yet."""
    remote = mirror.remote
    return lfs_objects(Path(remote.url), *([Path(remote.lfs)] if remote.lfs else [])) if remote else LfsObjects(())


def download_missing(mirror: Mirror, tree: str) -> None:
    """Downloads the objects of a tree that are not here, if git-lfs is installed. Pointers stay otherwise."""
    remote = mirror.remote
    if remote is None or Path(remote.url).is_dir() or not has_program():
        return
    objects = lfs_objects(mirror.path)
    pointers = dict(pointers_of(mirror.path, index_of_commit(mirror.path, tree).entries)).values()
    if all(objects.find(pointer) for pointer in pointers):
        return
    commit = mirror.commit(tree, parents=(), message="To download the objects of this tree", at=0)
    try:
        git(mirror.path, "lfs", "fetch", remote.url, commit, env=remote.env, timeout=_SECONDS)
    except GitFailed as exc:
        message = exc.stderr.replace(remote.url, url_without_credential(remote.url))
        log.warning("objects of Git LFS not downloaded reason=%s", message.strip()[-300:])
