"""Counts a service's answers by status since the start, and keeps what is left of its limits: for the metrics."""

from collections import Counter
from dataclasses import dataclass, field

NO_ANSWER = 0


@dataclass(slots=True)
class RequestCounts:
    answers: Counter[int] = field(default_factory=Counter)
    """Keyed by HTTP status, or `NO_ANSWER`."""
    remaining: dict[str, float] = field(default_factory=dict)
    """Keyed by limit, as the service stated it last."""

    def add(self, status: int, remaining: dict[str, float] | None = None) -> None:
        self.answers[status] += 1
        self.remaining |= remaining or {}
