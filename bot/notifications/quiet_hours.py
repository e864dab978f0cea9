"""The hours in which nobody is told anything, by the clock on somebody's wall."""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Quiet:
    begin: int
    """Minutes after midnight; from `begin` on, and until `end`, which may be on the next day."""
    end: int
    zone: tzinfo | None = None
    """None: this machine's own."""

    def covers(self, at: float) -> bool:
        """Whatever the clocks were moved by."""
        there = datetime.fromtimestamp(at, self.zone).time()
        minute = there.hour * 60 + there.minute
        if self.begin <= self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


def parse_quiet(hours: str, zone: tzinfo | None = None) -> Quiet | None:
    """Of `22:00-07:00`. None: there are none."""
    found = _HOURS.fullmatch(hours)
    if not found:
        return None
    begin, end = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
    return Quiet(begin, end, zone)
