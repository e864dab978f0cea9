"""What the server's clock says, in seconds of our own: the two may differ by minutes."""

from datetime import datetime
from email.utils import parsedate_to_datetime

from bot.errors import Retryable
from bot.system.clock import Clock

_STEADY = 2.0  # seconds: a Date header is that coarse


class ServerTime:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = 0.0

    def heard(self, date: str) -> None:
        """The Date header of an answer that has just come."""
        at = seconds_of(date)
        if at is not None and abs(at - self._clock() - self._ahead) > _STEADY:
            self._ahead = at - self._clock()

    def own(self) -> float:
        return self._clock()

    def now(self) -> float:
        return self._clock() + self._ahead

    def local(self, iso: str) -> float:
        try:
            return datetime.fromisoformat(iso).timestamp() - self._ahead
        except ValueError as exc:
            raise Retryable(f"A service sent a time that is none: {iso!r}.") from exc


def seconds_of(date: str) -> float | None:
    """An HTTP date."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, IndexError, OverflowError):
        return None
