"""Quiet hours: the daily time range without notifications, in the operator's time zone."""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class QuietHours:
    begin: int
    """Minutes after midnight. `end` may be on the next day."""
    end: int
    zone: tzinfo | None = None
    """Defaults to the machine's time zone."""

    def covers(self, at: float) -> bool:
        """Follows changes to and from daylight saving time."""
        there = datetime.fromtimestamp(at, self.zone).time()
        minute = there.hour * 60 + there.minute
        if self.begin <= self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


def parse_quiet_hours(hours: str, zone: tzinfo | None = None) -> QuietHours | None:
    """Parses `22:00-07:00`. Returns None if `hours` has no range."""
    found = _HOURS.fullmatch(hours)
    if not found:
        return None
    begin, end = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
    return QuietHours(begin, end, zone)
