"""How a service has answered us since we started, and what it leaves us: for whoever watches from outside."""

from collections import Counter
from dataclasses import dataclass, field

NO_ANSWER = 0


@dataclass(slots=True)
class Tally:
    answers: Counter[int] = field(default_factory=Counter)
    """By HTTP status; `NO_ANSWER`: there was none."""
    left: dict[str, float] = field(default_factory=dict)
    """Of each limit of the service's, as it said last."""

    def heard(self, status: int, left: dict[str, float] | None = None) -> None:
        self.answers[status] += 1
        self.left |= left or {}
