"""What a worktree is in the middle of: a merge whose conflicts are shown in its files."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "merging"


@dataclass(frozen=True, slots=True)
class Pending:
    """The commit to come has both `ours` and `theirs` as its parents."""

    ours: str
    theirs: str
    branch: str
    """What is being taken in: the base, or what others pushed to our own branch."""
    base: str
    """The commit our branch starts from, once this is done."""
    tree: str
    """The merged files as git left them, with markers where it could not merge."""
    paths: tuple[str, ...]
    """Where it could not; any bytes survive a round trip."""
    conflicts: tuple[str, ...]
    """The same in git's words."""


def note(admin: Path, pending: Pending) -> None:
    (admin / _NAME).write_text(json.dumps(asdict(pending)))


def find_pending(admin: Path, tip: str) -> Pending | None:
    """None as well when it is of another commit than the branch's tip: that one was ended."""
    try:
        noted = json.loads((admin / _NAME).read_text())
    except (OSError, ValueError):
        return None
    pending = Pending(**{**noted, "paths": tuple(noted["paths"]), "conflicts": tuple(noted["conflicts"])})
    return pending if pending.ours == tip else None
