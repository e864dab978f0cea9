"""The pull request a run offers for review."""

from dataclasses import dataclass
from enum import StrEnum


class PullRequestState(StrEnum):
    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class PullRequest:
    number: int
    branch: str
    title: str
    body: str
    state: PullRequestState
    draft: bool
    head: str
    """The commit id at its tip, as the forge knows it."""
    url: str = ""
