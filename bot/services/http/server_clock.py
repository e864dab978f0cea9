"""Server clock: learns from Date headers how far a server's clock is ahead of ours, and converts its times."""

from datetime import datetime
from email.utils import parsedate_to_datetime

from bot.errors import Retryable
from bot.system.clock import Clock

_TOLERANCE = 2.0  # seconds: a Date header is that coarse


class ServerTime:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = 0.0

    def update(self, date: str) -> None:
        """`date`: the Date header of an answer that has just come."""
        at = parse_http_date(date)
        if at is not None and abs(at - self._clock() - self._ahead) > _TOLERANCE:
            self._ahead = at - self._clock()

    def local_now(self) -> float:
        return self._clock()

    def now(self) -> float:
        return self._clock() + self._ahead

    def to_local(self, iso: str) -> float:
        try:
            return datetime.fromisoformat(iso).timestamp() - self._ahead
        except ValueError as exc:
            raise Retryable(f"The service sent a time that cannot be read: {iso!r}.") from exc


def parse_http_date(date: str) -> float | None:
    """Returns None if it is no HTTP date."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, IndexError, OverflowError):
        return None
