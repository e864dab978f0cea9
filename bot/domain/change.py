"""A turn's change: the commit that the host made, its files, and the objections of the publish guard."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    added: int
    removed: int


LIMIT = "limit"
"""Rule of an objection to work that is too much to be read."""

LFS = "Git LFS"
"""Rule of an objection to a pointer whose object nobody would have."""


@dataclass(frozen=True, slots=True)
class Objection:
    """A rule of the publish guard that some content breaks."""

    rule: str
    """Its name, as people read it: `protected path`, `secret`, ..."""
    path: str
    """The file, shown on one line; empty: the change as a whole."""
    detail: str
    """Explanation; never the secret itself."""
    content: str = ""
    """Object id and mode of the file, so that an approval allows exactly this content."""

    @property
    def may_be_approved(self) -> bool:
        return self.rule not in {LIMIT, LFS}

    @property
    def id(self) -> str:
        words = f"{self.rule}\0{self.path}\0{self.detail}\0{self.content}"
        return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Change:
    """The commit that the host made of a worktree. Facts, not claims."""

    base: str
    head: str
    """The tip after this turn; equal to `before` when the turn changed nothing."""
    before: str
    files: tuple[FileChange, ...] = ()
    """Changes of the branch against its base."""
    left_out: tuple[str, ...] = ()
    """Files left out of the commit, each with the reason."""
    objections: tuple[Objection, ...] = ()
    """Objections without approval: nothing was committed (`head == before`); the changes are still in the worktree."""


@dataclass(frozen=True, slots=True)
class HandWork:
    """Work that a person did in the worktree by hand."""

    diff: str = ""
    """Diff of the resulting commit; empty if nothing was changed or the change is held."""
    blocked: Change | None = None
    """The host objects to it: nothing was committed."""


@dataclass(frozen=True, slots=True)
class DiffStat:
    files: int = 0
    added: int = 0
    """Lines."""
    removed: int = 0

    def __bool__(self) -> bool:
        return bool(self.files)

    def __str__(self) -> str:
        """`3 files +12 -4`."""
        return f"{self.files} file{'s' if self.files != 1 else ''} +{self.added} -{self.removed}"


def diff_stat_of(files: Sequence[FileChange]) -> DiffStat:
    # git counts no lines in binary files
    return DiffStat(len(files), sum(max(one.added, 0) for one in files), sum(max(one.removed, 0) for one in files))


@dataclass(frozen=True, slots=True)
class Handover:
    """A worktree that comes back from a person's hands: the work becomes a commit of its own."""

    by: str
    message: str
    at: float
    """Becomes the commit's date, so that a repeat finds the commit it made the first time."""
