"""Past events that statistics are computed from. Times are seconds since 1970."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnBill:
    at: float
    project: str
    usd: float
    tokens: int


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that is over."""

    at: float
    project: str
    merged: bool
    had_pull_request: bool
    """It had a pull request."""


@dataclass(frozen=True, slots=True)
class FirstPullRequest:
    """A run's first pull request, and the seconds that passed since the request."""

    at: float
    project: str
    seconds: float


@dataclass(frozen=True, slots=True)
class QueueWait:
    """A run's time in the queue."""

    project: str
    begun_at: float
    ended_at: float = math.inf
    """Infinite while it still waits."""


@dataclass(frozen=True, slots=True)
class History:
    bills: Sequence[TurnBill] = ()
    finished_runs: Sequence[FinishedRun] = ()
    pull_requests: Sequence[FirstPullRequest] = ()
    waits: Sequence[QueueWait] = ()

    def of(self, project: str) -> "History":
        """Limits the history to one project; empty: all projects."""
        if not project:
            return self
        return History(
            [one for one in self.bills if one.project == project],
            [one for one in self.finished_runs if one.project == project],
            [one for one in self.pull_requests if one.project == project],
            [one for one in self.waits if one.project == project],
        )
