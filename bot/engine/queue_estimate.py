"""Estimates the waiting time of queued runs from the duration of earlier turns. Pure; never used for decisions."""

from bisect import insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.run import Phase, Run

IN_QUEUE = "waiting for a free slot"
"""Opening of the reason of runs that wait for a slot only."""


@dataclass(frozen=True, slots=True)
class TurnRate:
    """Typical duration of a turn, and the number of turns at once."""

    typical_seconds: float = 0.0
    """Typical seconds of a turn; 0 if no turn has succeeded yet."""
    working: int = 1
    working_per_project: int = 1


def etas(runs: Sequence[Run], pace: TurnRate, now: float) -> Mapping[str, float]:
    """Returns the seconds until each queued run starts, by run id. Leaves out runs that wait for another reason.

    Assumes that every turn takes the typical time and that slots go to the queue in order.
    """
    if not pace.typical_seconds:
        return {}
    ends: list[float] = []
    ends_of: defaultdict[str, list[float]] = defaultdict(list)
    found: dict[str, float] = {}
    for run in runs:
        if run.phase is Phase.WORKING:
            end = max(pace.typical_seconds - (now - run.turns.started_at), 0.0)
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
    """Returns True also for a new run, which has no reason yet."""
    return run.phase is Phase.QUEUED and (not run.reason or run.reason.startswith(IN_QUEUE))


def _free(ends: Sequence[float], slots: int) -> float:
    """Returns the time when a slot becomes free."""
    return ends[-slots] if len(ends) >= slots else 0.0
