"""Observation: the state of one run's issue, pull request and turn in one tick."""

from dataclasses import dataclass, field

from bot.domain.comment import Comment
from bot.domain.issue import Issue
from bot.domain.pull_request import PullRequest
from bot.domain.spend import TotalSpend
from bot.domain.turn import TurnReport, TurnState


@dataclass(frozen=True, slots=True)
class Slot:
    """The scheduler's decision on this run's next turn."""

    granted: bool = False
    reason: str = ""
    """Reason of the wait, for people."""
    ahead: int = 0
    """Runs that wait for a free slot ahead of this run."""
    reported_elsewhere: bool = False
    """Another run already reports the problem of all."""
    paused: bool = False
    """The run waits because its project, or all projects, are paused."""
    outage: bool = False
    """The model fails for other runs as well, so a failure does not count against this run."""


@dataclass(frozen=True, slots=True)
class Observation:
    now: float
    issue: Issue | None
    """None if the issue is gone."""
    comments: tuple[Comment, ...] = ()
    """Comments on issue and pull request, oldest first."""
    pull_request: PullRequest | None = None
    turn: TurnReport = field(default=TurnReport(TurnState.LOST))
    """The current turn; lost if no executor knows it."""
    next_turn: TurnReport | None = None
    """The next turn, if it was started and not saved yet."""
    spent: TotalSpend = field(default=TotalSpend())
    """Cost of all runs of the issue."""
    slot: Slot = Slot()
    hidden_passages: int = 0
    """Number of hidden passages removed from the issue and trusted comments."""
