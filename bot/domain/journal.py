"""What is written down about a run, for people."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal."""

    at: float
    text: str
