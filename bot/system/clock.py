"""The one place that reads the clock; everything else is given it, so that tests can move it."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the epoch."""

DAY = 86400.0


def now() -> float:
    return time.time()  # noqa: TID251 - this is the Clock


def steady() -> float:
    """Seconds that nobody can set, and that go on while the process is stopped and while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def day_of(moment: float) -> float:
    """When the (UTC) day of a moment began: budgets are counted by it."""
    return moment - moment % DAY
