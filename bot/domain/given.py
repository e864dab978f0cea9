"""A worktree that comes back from a person's hands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Given:
    """A worktree that a person worked in by hand: what they changed is to become a commit of its own."""

    by: str
    message: str
    at: float
    """Becomes the commit's date, so that a repeat finds the commit it made the first time."""
