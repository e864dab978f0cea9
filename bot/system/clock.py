"""Reads the clock. Everything else receives a Clock, so that tests can move time."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the epoch."""

DAY = 86400.0


def now() -> float:
    return time.time()  # noqa: TID251 - this is the Clock


def steady() -> float:
    """Seconds since boot: cannot be set, and continue while the process is stopped or the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def day_of(moment: float) -> float:
    """Start of the UTC day; budgets are counted per day."""
    return moment - moment % DAY
