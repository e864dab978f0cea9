"""Pending merge: a merge whose conflicts the worktree's files show, noted beside the worktree."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "merging"


@dataclass(frozen=True, slots=True)
class PendingMerge:
    """A merge that the next commit concludes, with `ours` and `theirs` as parents."""

    ours: str
    theirs: str
    branch: str
    """The branch being merged: the base, or ours as others pushed it."""
    base: str
    """Base commit of our branch after the merge."""
    tree: str
    """The merged files, with conflict markers."""
    paths: tuple[str, ...]
    """Files with conflicts; any bytes survive a round trip."""
    conflicts: tuple[str, ...]
    """Git's messages about the conflicts."""


def write_pending(admin: Path, pending: PendingMerge) -> None:
    (admin / _NAME).write_text(json.dumps(asdict(pending)))


def read_pending(admin: Path, tip: str) -> PendingMerge | None:
    """Returns None also if it belongs to another tip: that merge has ended."""
    try:
        noted = json.loads((admin / _NAME).read_text())
    except (OSError, ValueError):
        return None
    pending = PendingMerge(**{**noted, "paths": tuple(noted["paths"]), "conflicts": tuple(noted["conflicts"])})
    return pending if pending.ours == tip else None
