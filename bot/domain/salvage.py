"""Work that was published nowhere, and is kept where it outlives its worktree."""

from dataclasses import dataclass

KEPT_DAYS = 30
KEPT_SECONDS = KEPT_DAYS * 86400.0


@dataclass(frozen=True, slots=True)
class Salvaged:
    """Work that waits to be brought back."""

    ref: str
    commit: str
    at: float = 0.0
    """Since when it is kept; 0: that is not noted yet."""
    shared: bool = False
    """The remote has it as well, under the same name."""
    files: int = 0
    """How many it changes."""

    @property
    def order(self) -> tuple[str, int]:
        """Whose it is, and the older first."""
        whose, _, number = self.ref.rpartition("/")
        return whose, int(number)

    def is_over(self, now: float) -> bool:
        return 0.0 < self.at < now - KEPT_SECONDS


@dataclass(frozen=True, slots=True)
class Kept:
    """Where salvaged work is, as people are told."""

    ref: str
    shared: bool = False
    why: str = ""
    """Why it is on this machine only, where that was not meant to be."""
