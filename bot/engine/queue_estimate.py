"""How long those that wait for a free slot will wait, as far as earlier turns tell. Pure; a guess, and never obeyed."""

from bisect import insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.run import Phase, Run

IN_QUEUE = "waiting for a free slot"
"""How the reason of those begins that wait for nothing else."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast turns go here, and how many at once."""

    typical_seconds: float = 0.0
    """Of a turn; 0: none has come to a good end yet."""
    working: int = 1
    working_per_project: int = 1


def etas(runs: Sequence[Run], pace: Pace, now: float) -> Mapping[str, float]:
    """Seconds by run id, for those in the queue; who waits for something else, or for nobody knows what, is not there.

    Every turn takes as long as is typical, and whoever is first in the queue gets what becomes free first.
    """
    if not pace.typical_seconds:
        return {}
    ends: list[float] = []
    ends_of: defaultdict[str, list[float]] = defaultdict(list)
    found: dict[str, float] = {}
    for run in runs:
        if run.phase is Phase.WORKING:
            end = max(pace.typical_seconds - (now - run.turn_at), 0.0)
            insort(ends, end)
            insort(ends_of[run.project], end)
    for run in runs:
        if _waits_for_slot(run):
            free = max(_free(ends, pace.working), _free(ends_of[run.project], pace.working_per_project))
            found[run.id] = free
            insort(ends, free + pace.typical_seconds)
            insort(ends_of[run.project], free + pace.typical_seconds)
    return found


def _waits_for_slot(run: Run) -> bool:
    """What is new has not been told yet why it waits."""
    return run.phase is Phase.QUEUED and (not run.reason or run.reason.startswith(IN_QUEUE))


def _free(ends: Sequence[float], slots: int) -> float:
    """When one of so many slots becomes free."""
    return ends[-slots] if len(ends) >= slots else 0.0
