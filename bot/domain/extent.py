"""How much a branch changes against its base, as the host measured it."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.change import FileChange


@dataclass(frozen=True, slots=True)
class Extent:
    files: int = 0
    added: int = 0
    """Lines."""
    removed: int = 0

    def __bool__(self) -> bool:
        return bool(self.files)

    def __str__(self) -> str:
        """`3 files +12 -4`."""
        return f"{self.files} file{'s' if self.files != 1 else ''} +{self.added} -{self.removed}"


def extent_of(files: Sequence[FileChange]) -> Extent:
    # of what is not text git counts no lines
    return Extent(len(files), sum(max(one.added, 0) for one in files), sum(max(one.removed, 0) for one in files))
