"""Clock of the stand-in: moved by tests, or following the real clock; no two moments are equal."""

import re
import time
from datetime import UTC, datetime, timedelta


class Clock:
    def __init__(self, now: float | None = None, *, ticking: bool = False) -> None:
        self.ticking = ticking
        self.now = time.time() if now is None else now

    @property
    def now(self) -> float:
        return self._now + (time.monotonic() - self._since if self.ticking else 0.0)

    @now.setter
    def now(self, seconds: float) -> None:
        self._now, self._since, self._last = seconds, time.monotonic(), 0.0

    def moment(self) -> float:
        """Returns now in whole milliseconds, later than every moment before: actions of people have an order."""
        moment = max(round(self.now, 3), round(self._last + 0.001, 3))
        if moment > self.now and not self.ticking:
            self.now = moment
        self._last = moment
        return moment


def iso(seconds: float) -> str:
    whole, thousandths = divmod(milliseconds(seconds), 1000)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{thousandths:03d}Z"


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


_DURATION = re.compile(
    r"(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.ASCII
)
_SHORT = re.compile(r"\d{4}(-\d\d)?", re.ASCII)


def parse_time(text: str, now: float) -> float:
    """Parses a date like Linear: ISO 8601, or a duration from now (`-P2W`)."""
    if not (found := _DURATION.fullmatch(text)):
        at = datetime.fromisoformat(text + "-01-01"[len(text) - 4 :] if _SHORT.fullmatch(text) else text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    years, months, weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    span = timedelta(
        days=365 * years + 30 * months + days, weeks=weeks, hours=hours, minutes=minutes, seconds=seconds
    ).total_seconds()
    return now + (-span if found[1] else span)
