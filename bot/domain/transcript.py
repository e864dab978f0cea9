"""What was said and done in a run, as it is read back: stretches of a file that only grows."""

from dataclasses import dataclass

from bot.domain.turn import Event


@dataclass(frozen=True, slots=True)
class Spoken:
    turn: str
    """The turn's id."""
    event: Event
    end: int
    """Where in the transcript it ends."""


@dataclass(frozen=True, slots=True)
class Stretch:
    begin: int = 0
    end: int = 0
    lines: tuple[Spoken, ...] = ()
    before: str = ""
    """The turn of the line before it."""
