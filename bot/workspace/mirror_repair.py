"""Repairs a damaged mirror: sets it aside and copies its intact branches, worktrees and salvaged work to a new one.

Rule: the new mirror is fetched from the remote first. Only what the remote lacks is read from the damaged one.
"""

import logging
import re
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from bot.git.command import RepositoryDamaged, git
from bot.workspace.paths import BASES, BRANCHES, SALVAGE, slug_for
from bot.workspace.pending_merge import read_pending

log = logging.getLogger(__name__)

_CHECK_SECONDS = 1800
_PACKED_REF = re.compile(r"[0-9a-f]{40} refs/\S+")
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


def is_damaged(mirror: Path, *, thoroughly: bool) -> bool:
    """Checks that each ref names an existing commit; `thoroughly` checks every object."""
    try:
        git(mirror, "for-each-ref", "--format=%(objectsize)")
        if thoroughly:
            git(mirror, "rev-list", "--quiet", "--objects", "--single-worktree", "--all", timeout=_CHECK_SECONDS)
    except RepositoryDamaged as problem:
        log.warning("mirror damaged path=%s reason=%s", mirror, problem)
        return True
    return False


def damaged_path(mirror: Path) -> Path:
    """Path of the damaged mirror until its intact refs are copied."""
    return mirror.with_name(f"{mirror.name}.damaged")


def set_aside(mirror: Path) -> None:
    """Renames the mirror. While an earlier damaged one waits, this mirror has no work of its own and is archived."""
    place = damaged_path(mirror)
    mirror.rename(place if not place.exists() else _archive_path(mirror))


def recover(mirror: Path) -> None:
    """Copies branches with their worktrees, and salvaged work. Logs lost refs."""
    old = damaged_path(mirror)
    _make_readable(old)
    found = git(old, "for-each-ref", "--format=%(refname)", BRANCHES, "refs/treehand/").splitlines()
    lost = [ref for ref in found if not _fetch_ref(mirror, old, ref)]
    here = _list_refs(mirror)
    for ref in here:
        if ref.startswith(BRANCHES):
            _restore_branch(mirror, old, ref.removeprefix("refs/heads/"), here)
    archive = _archive_path(mirror)
    old.rename(archive)
    log.warning(
        "mirror replaced path=%s refs=%d lost=%s damaged=%s: remove the damaged copy when nothing is missing. "
        "If this happens again, the disk is failing.",
        mirror, len(found) - len(lost), ",".join(lost) or "none", archive,
    )  # fmt: skip


def _make_readable(old: Path) -> None:
    """Replaces damaged metadata, so that git can read the remaining refs."""
    (old / "HEAD").write_text("ref: refs/heads/none\n")
    (old / "config").write_text(_CONFIG)
    for folder in ("refs", "objects"):
        (old / folder).mkdir(exist_ok=True)
    packed = old / "packed-refs"
    if packed.is_file():
        lines = packed.read_text(errors="replace").splitlines()
        packed.write_text("".join(f"{line}\n" for line in lines if _PACKED_REF.fullmatch(line)))


def _fetch_ref(mirror: Path, old: Path, ref: str) -> bool:
    try:
        git(mirror, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(old), f"+{ref}:{ref}")
    except RepositoryDamaged:
        return False
    return True


def _restore_branch(mirror: Path, old: Path, branch: str, here: Mapping[str, str]) -> None:
    """Keeps the worktree of a branch, except during a merge, which starts again.

    A branch whose base is lost cannot be continued and is salvaged.
    """
    tip, slug = here[f"refs/heads/{branch}"], slug_for(branch)
    if f"{BASES}{branch}" not in here:
        git(mirror, "update-ref", _free_ref(f"{SALVAGE}{slug}/", here), tip)
        git(mirror, "update-ref", "-d", f"refs/heads/{branch}", tip)
    elif (admin := _find_admin(old, branch)).is_dir() and not read_pending(admin, tip):
        (mirror / "worktrees").mkdir(exist_ok=True)
        admin.rename(mirror / "worktrees" / admin.name)


def _find_admin(old: Path, branch: str) -> Path:
    """A worktree taken from the pool has another name than its branch."""
    says = f"ref: refs/heads/{branch}\n"
    heads = (head for head in (old / "worktrees").glob("*/HEAD") if head.read_text(errors="replace") == says)
    return next((head.parent for head in heads), old / "worktrees" / slug_for(branch))


def _free_ref(prefix: str, taken: Collection[str]) -> str:
    return next(f"{prefix}{number}" for number in range(1, len(taken) + 2) if f"{prefix}{number}" not in taken)


def _list_refs(mirror: Path) -> Mapping[str, str]:
    listing = git(mirror, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in listing)


def _archive_path(mirror: Path) -> Path:
    return mirror.with_name(f"{mirror.name}.damaged-{time.time_ns()}")
