"""A mirror that is damaged: set aside whole, and what is whole in it brought over to the new one.

Rule: the new one is fetched from the remote first. Only what the remote does not have has to come from a damaged disk.
"""

import logging
import re
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from bot.git.command import RepositoryDamaged, git
from bot.workspace.paths import BASES, BRANCHES, SALVAGE, slug_for
from bot.workspace.pending_merge import find_pending

log = logging.getLogger(__name__)

_CHECK_SECONDS = 1800
_PACKED_REF = re.compile(r"[0-9a-f]{40} refs/\S+")
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


def is_damaged(mirror: Path, *, thoroughly: bool) -> bool:
    """At a glance: its refs can be read, and each has its commit. Thoroughly: and all that these are made of."""
    try:
        git(mirror, "for-each-ref", "--format=%(objectsize)")
        if thoroughly:
            git(mirror, "rev-list", "--quiet", "--objects", "--single-worktree", "--all", timeout=_CHECK_SECONDS)
    except RepositoryDamaged as problem:
        log.warning("damaged mirror=%s reason=%s", mirror, problem)
        return True
    return False


def waiting(mirror: Path) -> Path:
    """Where the damaged one is until what is whole in it was brought over."""
    return mirror.with_name(f"{mirror.name}.damaged")


def set_aside(mirror: Path) -> None:
    """One that is damaged before the last one was done with was not there long enough to hold anything of its own."""
    place = waiting(mirror)
    mirror.rename(place if not place.exists() else _last_place(mirror))


def bring_over(mirror: Path) -> None:
    """Branches with their worktrees, and salvaged work. What is not whole is named."""
    old = waiting(mirror)
    _make_readable(old)
    found = git(old, "for-each-ref", "--format=%(refname)", BRANCHES, "refs/treehand/").splitlines()
    lost = [ref for ref in found if not _fetched(mirror, old, ref)]
    here = _refs(mirror)
    for ref in here:
        if ref.startswith(BRANCHES):
            _settle(mirror, old, ref.removeprefix("refs/heads/"), here)
    last = _last_place(mirror)
    old.rename(last)
    log.warning(
        "the mirror was damaged: made anew mirror=%s refs=%d lost=%s. The damaged one is %s: remove it when nothing is "
        "missing. A disk that does this twice is failing.",
        mirror, len(found) - len(lost), ",".join(lost) or "none", last,
    )  # fmt: skip


def _make_readable(old: Path) -> None:
    """As far as git can then find in it what there is."""
    (old / "HEAD").write_text("ref: refs/heads/none\n")
    (old / "config").write_text(_CONFIG)
    for folder in ("refs", "objects"):
        (old / folder).mkdir(exist_ok=True)
    packed = old / "packed-refs"
    if packed.is_file():
        lines = packed.read_text(errors="replace").splitlines()
        packed.write_text("".join(f"{line}\n" for line in lines if _PACKED_REF.fullmatch(line)))


def _fetched(mirror: Path, old: Path, ref: str) -> bool:
    try:
        git(mirror, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(old), f"+{ref}:{ref}")
    except RepositoryDamaged:
        return False
    return True


def _settle(mirror: Path, old: Path, branch: str, here: Mapping[str, str]) -> None:
    """A worktree goes on where it was, but in the middle of a merge: that begins again.

    A branch whose base nobody knows cannot be gone on with, and is kept.
    """
    tip, slug = here[f"refs/heads/{branch}"], slug_for(branch)
    if f"{BASES}{branch}" not in here:
        git(mirror, "update-ref", _free(f"{SALVAGE}{slug}/", here), tip)
        git(mirror, "update-ref", "-d", f"refs/heads/{branch}", tip)
    elif (admin := _admin_of(old, branch)).is_dir() and not find_pending(admin, tip):
        (mirror / "worktrees").mkdir(exist_ok=True)
        admin.rename(mirror / "worktrees" / admin.name)


def _admin_of(old: Path, branch: str) -> Path:
    """It bears another name where the worktree was made ahead of the branch."""
    says = f"ref: refs/heads/{branch}\n"
    heads = (head for head in (old / "worktrees").glob("*/HEAD") if head.read_text(errors="replace") == says)
    return next((head.parent for head in heads), old / "worktrees" / slug_for(branch))


def _free(prefix: str, taken: Collection[str]) -> str:
    return next(f"{prefix}{number}" for number in range(1, len(taken) + 2) if f"{prefix}{number}" not in taken)


def _refs(mirror: Path) -> Mapping[str, str]:
    listing = git(mirror, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in listing)


def _last_place(mirror: Path) -> Path:
    return mirror.with_name(f"{mirror.name}.damaged-{time.time_ns()}")
