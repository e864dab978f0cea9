"""A credential that is refused is not shown again and again: one try a minute at first, then ever more rarely."""

from bot.errors import Retryable
from bot.services.http.availability import Standings
from bot.system.clock import Clock

_FIRST, _MOST = 60.0, 900.0
_ASKED = "token"


class Unauthorized(Retryable):
    """The service refuses our credential."""


class Gate:
    def __init__(self, standings: Standings, clock: Clock) -> None:
        self._standings, self._clock = standings, clock
        self._refusals = 0
        self._shut_until = 0.0
        self._reason = ""

    def enter(self, *, to_try: bool = True) -> int:
        """A ticket. After a pause one goes ahead to try, and the others wait for how it fares."""
        if self._refusals:
            if self._left() > 0:
                raise self._refusal()
            if to_try:
                self._shut_until = self._clock() + self._pause()
        return self._refusals

    def check(self, ticket: int) -> None:
        """Was it shut while we waited for our turn?"""
        if self._refusals > ticket:
            raise self._refusal()

    def refused(self, reason: str, ticket: int) -> Unauthorized:
        if ticket == self._refusals:  # of many that were under way, one counts
            self._refusals += 1
            self._shut_until, self._reason = self._clock() + self._pause(), reason
            self._standings.bad("", reason, asked=_ASKED, now=self._clock())
        return self._refusal()

    def passed(self) -> None:
        self._refusals = 0
        self._standings.good("", asked=_ASKED, now=self._clock())

    def _left(self) -> float:
        left = self._shut_until - self._clock()
        if left > _MOST:  # the clock was moved
            self._shut_until = self._clock() + _FIRST
        return min(left, _MOST)

    def _pause(self) -> float:
        return float(min(_FIRST * 2 ** min(self._refusals - 1, 10), _MOST))

    def _refusal(self) -> Unauthorized:
        return Unauthorized(f"{self._reason}. Next try in {max(0.0, self._left()):.0f} s.")
