"""Credential lockout: after a refused credential, one request a minute tries it, then ever fewer."""

from bot.errors import Retryable
from bot.services.http.availability import Availability
from bot.system.clock import Clock

_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 900.0
_CLEARED_BY = "token"


class Unauthorized(Retryable):
    """The service refuses our credential."""


class CredentialLockout:
    def __init__(self, availability: Availability, clock: Clock) -> None:
        self._availability, self._clock = availability, clock
        self._refusals = 0
        self._locked_until = 0.0
        self._reason = ""

    def enter(self, *, to_try: bool = True) -> int:
        """Returns a ticket. Raises Unauthorized while locked; after a pause one request with `to_try` may pass."""
        if self._refusals:
            if self._left() > 0:
                raise self._refusal()
            if to_try:
                self._locked_until = self._clock() + self._pause()
        return self._refusals

    def check(self, ticket: int) -> None:
        """Raises Unauthorized if the credential was refused since the ticket was given."""
        if self._refusals > ticket:
            raise self._refusal()

    def record_refusal(self, reason: str, ticket: int) -> Unauthorized:
        if ticket == self._refusals:  # several concurrent refusals count as one
            self._refusals += 1
            self._locked_until, self._reason = self._clock() + self._pause(), reason
            self._availability.record_trouble("", reason, cleared_by=_CLEARED_BY, now=self._clock())
        return self._refusal()

    def record_success(self) -> None:
        self._refusals = 0
        self._availability.record_success("", cleared=_CLEARED_BY, now=self._clock())

    def _left(self) -> float:
        left = self._locked_until - self._clock()
        if left > _LONGEST_PAUSE:  # the clock was moved
            self._locked_until = self._clock() + _FIRST_PAUSE
        return min(left, _LONGEST_PAUSE)

    def _pause(self) -> float:
        return float(min(_FIRST_PAUSE * 2 ** min(self._refusals - 1, 10), _LONGEST_PAUSE))

    def _refusal(self) -> Unauthorized:
        return Unauthorized(f"{self._reason}. Next attempt in {max(0.0, self._left()):.0f} s.")
