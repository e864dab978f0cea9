"""What the host found in a worktree: what it committed of it, and why it did not commit the rest."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Objection:
    """Why the host does not publish what it found: a rule, and the content that it speaks of."""

    rule: str
    """Its name, as people read it: `protected path`, `secret`, ..."""
    path: str
    """The file, shown on one line; empty: the change as a whole."""
    detail: str
    """What exactly, in words; never the secret itself."""
    content: str = ""
    """What the file holds (object id and mode), so that overruling it allows just this and nothing later."""

    @property
    def id(self) -> str:
        words = f"{self.rule}\0{self.path}\0{self.detail}\0{self.content}"
        return hashlib.sha256(words.encode(errors="surrogateescape")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Change:
    """What the host found in the worktree and committed. Facts, not claims."""

    base: str
    head: str
    """The tip after this turn; equal to `before` when the turn changed nothing."""
    before: str
    files: tuple[FileChange, ...] = ()
    """Of the whole branch against its base."""
    left_out: tuple[str, ...] = ()
    """What was found but not committed, each with the reason."""
    objections: tuple[Objection, ...] = ()
    """Not overruled: nothing was committed (`head == before`), and all of it is still in the worktree."""


@dataclass(frozen=True, slots=True)
class HandWork:
    """What a person did in the worktree by hand."""

    diff: str = ""
    """Of the commit that was made of it; empty: nothing was changed, or it is held."""
    held: Change | None = None
    """The host objects to it: nothing was committed."""
