"""What happened, as far as figures are made of it. Times are seconds since 1970."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bill:
    at: float
    project: str
    usd: float
    tokens: int


@dataclass(frozen=True, slots=True)
class End:
    """A run that is over."""

    at: float
    project: str
    merged: bool
    offered: bool
    """It had a pull request."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A run's first pull request, so long after somebody asked."""

    at: float
    project: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Wait:
    """A run's time in the queue."""

    project: str
    begun_at: float
    ended_at: float = math.inf
    """Of one that still waits: never."""


@dataclass(frozen=True, slots=True)
class Past:
    bills: Sequence[Bill] = ()
    ends: Sequence[End] = ()
    offers: Sequence[Offer] = ()
    waits: Sequence[Wait] = ()

    def of(self, project: str) -> "Past":
        """Of that one alone; unnamed: all of it."""
        if not project:
            return self
        return Past(
            [one for one in self.bills if one.project == project],
            [one for one in self.ends if one.project == project],
            [one for one in self.offers if one.project == project],
            [one for one in self.waits if one.project == project],
        )
