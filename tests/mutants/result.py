"""Results of `make mutants`: one per guard, and the summary, which ends with the guards that no test caught."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.mutants.guards import Guard

NOTICED = "caught"
_LAST_LINES = 5


@dataclass(frozen=True, slots=True)
class Result:
    guard: Guard
    word: str
    printed: str
    """By its tests."""

    @property
    def is_failure(self) -> bool:
        return self.word != NOTICED

    def __str__(self) -> str:
        return f"{self.word:<9} {self.guard.name:<70} {' '.join(self.guard.tests)}"


def summary(results: Sequence[Result], *, left_out: int = 0, later: int = 0) -> str:
    """`left_out`: number of guards that cannot be tried here. `later`: of those for which there was no time."""
    found = Counter(result.word for result in results)
    failures = [result for result in results if result.is_failure]
    more = f", {left_out} could not be tried here" if left_out else ""
    rest = f", {later} left for another commit" if later else ""
    lines = [f"{found[NOTICED]} guards caught, {len(failures)} survived{more}{rest}"]
    for failure in failures:
        ending = [line for line in failure.printed.splitlines() if line.strip()][-_LAST_LINES:]
        lines += [str(failure), *(f"    {line}" for line in ending)]
    return "\n".join(lines)
