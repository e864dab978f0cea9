"""Where everything of one project lies under the workspace root. Rule: a name never leads out of the root.

mirrors/<project>.git        the bare mirror, only ever touched by the host
worktrees/<project>/<slug>   where an agent writes
shadows/<project>/<slug>     the throw-away git directory the agent's own git works in
looks/<project>/<slug>       what people are being shown of a worktree; empty at each start
pools/<project>/ready/<slug> says that a worktree of this name was made ahead, and is whole
pools/<project>/taken/<slug> says which of those the branch of this name has taken, and lives in
trash/<project>/             on its way out
aside/<project>/             found where a worktree was to be, and not made by us
"""

import contextlib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from bot.domain.turn import Ground

BRANCHES = "refs/heads/treehand/"
"""All our branches, and nothing else, are here."""
BASES = "refs/treehand/base/"
"""The commit each branch started from."""
PUSHED = "refs/treehand/pushed/"
"""What each branch was when we last pushed it."""
SALVAGE = "refs/treehand/salvage/"
SALVAGED_AT = "refs/treehand/salvaged-at/"
"""Since when it is kept there, as the content of an object."""
SHARED = "refs/treehand/shared/"
"""The salvaged work that the remote has as well."""
PARKED = "refs/treehand/parked/"
"""What lay in a worktree that was taken away to make room."""
ORIGIN = "refs/remotes/origin/"
AHEAD = "treehand/ready."
"""How the branch of a worktree that was made ahead begins; no issue's branch has a dot."""

_MADE_AHEAD = re.compile(r"ready\.[0-9a-f]{12}")


def slug_for(name: str) -> str:
    """Safe as a folder name, readable, and never the same for two names, also where case does not count."""
    plain = name.removeprefix("treehand/")
    if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,80}", plain) and not plain.endswith((".", ".git", ".lock")):
        return plain
    cleaned = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:40]
    digest = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:16]
    return f"{cleaned}-{digest}".lstrip("-")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one branch lives."""

    branch: str
    folder: Path
    admin: Path
    """What the mirror knows of the worktree; written by git and by us, never by an agent."""
    shadow: Path
    salvage: str
    """Where its salvaged work is numbered."""
    taken: Path
    """The note that it lives in a worktree which was made ahead; most branches have none."""

    def ground(self, mirror: Path) -> Ground:
        return Ground(self.folder, self.shadow, mirror / "objects")


@dataclass(frozen=True, slots=True)
class Places:
    root: Path
    project: str

    @property
    def mirror(self) -> Path:
        return self.root / "mirrors" / f"{slug_for(self.project)}.git"

    @property
    def worktrees(self) -> Path:
        return self.root / "worktrees" / slug_for(self.project)

    @property
    def shadows(self) -> Path:
        return self.root / "shadows" / slug_for(self.project)

    @property
    def looks(self) -> Path:
        return self.root / "looks" / slug_for(self.project)

    @property
    def trash(self) -> Path:
        return self.root / "trash" / slug_for(self.project)

    @property
    def aside(self) -> Path:
        return self.root / "aside" / slug_for(self.project)

    @property
    def pool(self) -> Path:
        return self.root / "pools" / slug_for(self.project)

    @property
    def ready(self) -> Path:
        return self.pool / "ready"

    @property
    def taken(self) -> Path:
        return self.pool / "taken"

    def of(self, branch: str) -> Place:
        own = slug_for(branch)
        slug = made_ahead(self.taken / own) or own
        return Place(
            branch=branch,
            folder=self.worktrees / slug,
            admin=self.mirror / "worktrees" / slug,
            shadow=self.shadows / slug,
            salvage=f"{SALVAGE}{own}/",
            taken=self.taken / own,
        )


def ready_in(places: Places) -> tuple[Path, ...]:
    """Notes of worktrees that wait to be taken, the oldest first."""
    with contextlib.suppress(OSError):
        notes = [note for note in places.ready.iterdir() if made_ahead(note)]
        return tuple(sorted(notes, key=lambda note: (note.lstat().st_mtime_ns, note.name)))
    return ()


def trouble_of(places: Places) -> str:
    """Why none is made ahead; empty: nothing is in the way."""
    with contextlib.suppress(OSError):
        return (places.pool / "trouble").read_text(errors="replace")
    return ""


def made_ahead(note: Path) -> str:
    """The name that a note of the pool tells of; empty: none."""
    with contextlib.suppress(OSError):
        name = note.read_text().partition(" ")[0]
        return name if _MADE_AHEAD.fullmatch(name) else ""
    return ""
