"""What the loop has put off, and until when. In memory only: after a restart everything may be tried at once."""

from dataclasses import dataclass

from bot.errors import BotError, NeedsHuman, RateLimited

_FIRST_SECONDS = 5.0
_LONGEST_SECONDS = 60.0
_REFUSED_SECONDS = 300.0
"""How long to leave alone what refuses us, and where not even that can be said."""
_ENOUGH_SECONDS = 90.0
"""How long somebody who wants an end waits for what does not work."""


@dataclass(frozen=True, slots=True)
class _Delay:
    since: float
    """When it was first put off."""
    tries: int
    due: float
    held: bool
    """Not even when a tick comes anyway."""


class Patience:
    """By the name of whatever is waited for: a run, or a project."""

    def __init__(self) -> None:
        self._delays: dict[str, _Delay] = {}
        self._expected: dict[str, float] = {}

    def put_off(self, name: str, problem: BotError, now: float) -> None:
        before = self._delays.get(name)
        tries = before.tries + 1 if before else 1
        match problem:
            case RateLimited():
                wait, held = problem.retry_after, True
            case NeedsHuman():
                wait, held = _REFUSED_SECONDS, True
            case _:
                wait, held = min(_FIRST_SECONDS * 2 ** (tries - 1), _LONGEST_SECONDS), False
        self._delays[name] = _Delay(before.since if before else now, tries, now + wait, held)

    def succeeded(self, name: str) -> None:
        self._delays.pop(name, None)

    def expect(self, name: str, at: float | None) -> None:
        """Something about it becomes due by itself, without any news; None: nothing does."""
        if at is None:
            self._expected.pop(name, None)
        else:
            self._expected[name] = at

    def holds(self, name: str, now: float) -> bool:
        """It must not be tried before its time."""
        delay = self._delays.get(name)
        return delay is not None and delay.held and now < delay.due

    def is_over(self, now: float) -> bool:
        """Is something due now?"""
        return any(due <= now for due in (*self._expected.values(), *(delay.due for delay in self._delays.values())))

    def is_spent(self, name: str, now: float) -> bool:
        """It was tried for long enough, or may not be tried for a long time."""
        return name in self._delays and max(now, self._delays[name].due) > self._delays[name].since + _ENOUGH_SECONDS

    def is_worth_waiting(self, now: float) -> bool:
        """Is something to be tried again, or due by itself, before long?"""
        retries = any(not self.is_spent(name, now) for name in self._delays)
        return retries or any(at <= now + _ENOUGH_SECONDS for at in self._expected.values())
