"""Salvaged work: commits that were not published, kept after their worktree is gone."""

from dataclasses import dataclass

RETENTION_DAYS = 30
RETENTION_SECONDS = RETENTION_DAYS * 86400.0


@dataclass(frozen=True, slots=True)
class SalvagedWork:
    """Work that can be restored."""

    ref: str
    commit: str
    at: float = 0.0
    """Since when it is kept; 0: that is not noted yet."""
    shared: bool = False
    """The remote has it as well, under the same name."""
    files: int = 0
    """Number of changed files."""

    @property
    def order(self) -> tuple[str, int]:
        """Sorts by branch, then by age."""
        whose, _, number = self.ref.rpartition("/")
        return whose, int(number)

    def is_over(self, now: float) -> bool:
        return 0.0 < self.at < now - RETENTION_SECONDS


@dataclass(frozen=True, slots=True)
class SalvageLocation:
    """Location of salvaged work, for people."""

    ref: str
    shared: bool = False
    why: str = ""
    """Why it is on this machine only, where that was not meant to be."""
    size: str = ""
    """The folder's size for people; empty if it was not measured."""

    @property
    def is_folder(self) -> bool:
        """A commit could not hold everything: `ref` is the folder where the files are."""
        return self.ref.startswith("/")
