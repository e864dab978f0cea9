"""A measured figure and its target."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    unit: str
    most: float | None = None
    """The aim; none: it is there to be compared with."""

    @property
    def verdict(self) -> str:
        if self.most is None:
            return ""
        return f"{'ok' if self.value <= self.most else 'MISSED'} (target: at most {self.most:g})"


def middle(seconds: Sequence[float]) -> float:
    return statistics.median(seconds)
