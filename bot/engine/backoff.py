"""Backoff: how long a failed turn waits for its retry, and how long runs and projects rest after errors.

The delays of `Backoff` are kept in memory only: after a restart everything may be tried at once.
"""

from dataclasses import dataclass

from bot.errors import BotError, Elsewhere, NeedsHuman, RateLimited

TURN_RETRY_SECONDS = 10.0
"""Delay after a run's first failed turn; each further failure in a row doubles it."""
_LONGEST_TURN_RETRY_SECONDS = 300.0
KEY_RETRY_SECONDS = 300.0
"""Interval in which one run tests whether the model's service accepts the key again."""
_FIRST_SECONDS = 5.0
_LONGEST_SECONDS = 60.0
_REFUSED_SECONDS = 300.0
"""Delay after a refusal that does not say how long it lasts."""
_ENOUGH_SECONDS = 90.0
"""Longest wait of a command for something that fails."""


def turn_retry_delay(failures: int) -> float:
    return min(TURN_RETRY_SECONDS * 2.0 ** max(failures - 1, 0), _LONGEST_TURN_RETRY_SECONDS)


@dataclass(frozen=True, slots=True)
class _Delay:
    since: float
    """Time of the first error."""
    attempts: int
    due: float
    strict: bool
    """Not even when a tick comes anyway."""
    puzzle: str
    """The last error, if it should have passed."""


class Backoff:
    """Delays, by the name of a run or project."""

    def __init__(self) -> None:
        self._delays: dict[str, _Delay] = {}
        self._expected: dict[str, float] = {}

    def delay(self, name: str, problem: BotError, now: float) -> None:
        before = self._delays.get(name)
        tries = before.attempts + 1 if before else 1
        match problem:
            case RateLimited():
                wait, held = problem.retry_after, True
            case NeedsHuman():
                wait, held = _REFUSED_SECONDS, True
            case _:
                wait, held = min(_FIRST_SECONDS * 2 ** (tries - 1), _LONGEST_SECONDS), False
        puzzle = "" if isinstance(problem, RateLimited | NeedsHuman | Elsewhere) else str(problem)
        self._delays[name] = _Delay(before.since if before else now, tries, now + wait, held, puzzle)

    def succeeded(self, name: str) -> None:
        self._delays.pop(name, None)

    def lasting(self, name: str, now: float) -> tuple[str, float]:
        """Returns an error that should have passed, and for how many seconds there were errors; empty if there is none.

        The end of a rate limit is known, and another daemon continues what it holds.
        """
        delay = self._delays.get(name)
        return (delay.puzzle, now - delay.since) if delay and delay.puzzle else ("", 0.0)

    def expect_at(self, name: str, at: float | None) -> None:
        """Something about it becomes due by itself, without any news; None: nothing does."""
        if at is None:
            self._expected.pop(name, None)
        else:
            self._expected[name] = at

    def is_delayed(self, name: str, now: float) -> bool:
        """It must not be tried before its time."""
        delay = self._delays.get(name)
        return delay is not None and delay.strict and now < delay.due

    def has_due(self, now: float) -> bool:
        """Is something due now?"""
        return any(due <= now for due in (*self._expected.values(), *(delay.due for delay in self._delays.values())))

    def is_exhausted(self, name: str, now: float) -> bool:
        """It was tried for long enough, or may not be tried for a long time."""
        return name in self._delays and max(now, self._delays[name].due) > self._delays[name].since + _ENOUGH_SECONDS

    def is_worth_waiting(self, now: float) -> bool:
        """Is something to be tried again, or due by itself, before long?"""
        retries = any(not self.is_exhausted(name, now) for name in self._delays)
        return retries or any(at <= now + _ENOUGH_SECONDS for at in self._expected.values())
