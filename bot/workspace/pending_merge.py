"""Pending merge: a merge whose conflicts the worktree's files show, noted beside the worktree."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "merging"


@dataclass(frozen=True, slots=True)
class PendingMerge:
    """A merge that the next commit concludes."""

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
    onto: tuple[str, ...] = ()
    """Parents of a commit that replants our work on a rewritten branch; empty for a merge."""

    @property
    def parents(self) -> tuple[str, ...]:
        return self.onto or (self.ours, self.theirs)


def write_pending(admin: Path, pending: PendingMerge) -> None:
    (admin / _NAME).write_text(json.dumps(asdict(pending)))


def read_pending(admin: Path, tip: str) -> PendingMerge | None:
    """Returns None also if it belongs to another tip: that merge has ended."""
    try:
        noted = json.loads((admin / _NAME).read_text())
    except (OSError, ValueError):
        return None
    lists = {name: tuple(noted.get(name, ())) for name in ("paths", "conflicts", "onto")}
    pending = PendingMerge(**{**noted, **lists})
    return pending if pending.ours == tip else None
