"""Paths and refs of one project: mirror, worktree folders, shadows, pool, trash.

Rule: a name never leads out of the workspace root.

mirrors/<project>.git        the bare mirror, only ever touched by the host
worktrees/<project>/<slug>   where an agent writes
shadows/<project>/<slug>     the git directory of the worktree, as the host made it; no sandbox writes it
shadows/<project>/<slug>~agent  the git directory that the agent's own git works in
looks/<project>/<slug>       temporary repository of a live diff; emptied at each start
pools/<project>/ready/<slug> note: the pool's worktree of this name is ready
pools/<project>/taken/<slug> note: the branch of this name uses that worktree of the pool
trash/<project>/             being deleted
aside/<project>/             folders found in the place of a worktree, not made by us; agents' repositories in one
aside/<project>/<name>.work  an agent's work that no commit can hold; deleted after 30 days
"""

import contextlib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from bot.domain.turn import WorktreeMounts

BRANCHES = "refs/heads/treehand/"
"""All our branches and nothing else."""
BASES = "refs/treehand/base/"
"""The commit each branch started from."""
PUSHED = "refs/treehand/pushed/"
"""The newest published commit that each of our branches contains, pushed by us or by people."""
DROPPED = "refs/treehand/dropped/"
"""Published commits that people have removed from a branch of ours."""
CI_HELD = "refs/treehand/ci-held/"
"""The newest commit of each branch that keeps workflows from starting."""
CI_STARTED = "refs/treehand/ci-started/"
"""The newest commit of each branch at which workflows start, after an approval."""
SALVAGE = "refs/treehand/salvage/"
SALVAGE_DATES = "refs/treehand/salvaged-at/"
"""Date of each salvaged ref, as the content of a blob."""
SHARED = "refs/treehand/shared/"
"""Salvaged work that the remote has as well."""
EVICTED = "refs/treehand/parked/"
"""Uncommitted work of evicted worktrees."""
ORIGIN = "refs/remotes/origin/"
POOL_BRANCH = "treehand/ready."
"""Prefix of the branches of pooled worktrees; no issue's branch has a dot."""

WORK_SUFFIX = ".work"
"""Ends the name of a folder in `aside` with an agent's work, which is kept as long as salvaged work."""
AGENT_WORK = re.compile(r".+\.work(?:-[0-9a-f]{8})?")

_POOLED_NAME = re.compile(r"ready\.[0-9a-f]{12}")


def slug_for(name: str) -> str:
    """A readable folder name, unique per name even on case-insensitive file systems."""
    plain = name.removeprefix("treehand/")
    if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,80}", plain) and not plain.endswith((".", ".git", ".lock")):
        return plain
    cleaned = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:40]
    digest = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:16]
    return f"{cleaned}-{digest}".lstrip("-")


@dataclass(frozen=True, slots=True)
class BranchPaths:
    """Paths of one branch."""

    branch: str
    folder: Path
    admin: Path
    """The worktree's administrative folder in the mirror; written by git and the host, never by an agent."""
    shadow: Path
    salvage_prefix: str
    """Prefix of the refs of its salvaged work."""
    taken: Path
    """Note that it uses a worktree of the pool; may not exist."""
    aside: Path
    """The folder is moved there if a commit cannot hold everything in it."""

    def mounts(self, mirror: Path) -> WorktreeMounts:
        return WorktreeMounts(self.folder, self.shadow, self.agent_git, mirror / "objects", layer=self.layer)

    @property
    def layer(self) -> Path:
        """Link to the dependencies that it shares with other worktrees; missing if it has its own."""
        return self.admin / "layer"

    @property
    def agent_git(self) -> Path:
        return self.shadow.with_name(f"{self.shadow.name}~agent")


@dataclass(frozen=True, slots=True)
class ProjectPaths:
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
    def live_diffs(self) -> Path:
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

    def for_branch(self, branch: str) -> BranchPaths:
        own = slug_for(branch)
        slug = pooled_name(self.taken / own) or own
        return BranchPaths(
            branch=branch,
            folder=self.worktrees / slug,
            admin=self.mirror / "worktrees" / slug,
            shadow=self.shadows / slug,
            salvage_prefix=f"{SALVAGE}{own}/",
            taken=self.taken / own,
            aside=self.aside / slug,
        )


def list_ready(places: ProjectPaths) -> tuple[Path, ...]:
    """Notes of pooled worktrees that are ready, oldest first."""
    with contextlib.suppress(OSError):
        notes = [note for note in places.ready.iterdir() if pooled_name(note)]
        return tuple(sorted(notes, key=lambda note: (note.lstat().st_mtime_ns, note.name)))
    return ()


def read_pool_error(places: ProjectPaths) -> str:
    """Reads why the pool is not filled; empty if it is."""
    with contextlib.suppress(OSError):
        return (places.pool / "trouble").read_text(errors="replace")
    return ""


def pooled_name(note: Path) -> str:
    """Reads the worktree's name from a note; empty if there is none."""
    with contextlib.suppress(OSError):
        name = note.read_text().partition(" ")[0]
        return name if _POOLED_NAME.fullmatch(name) else ""
    return ""
