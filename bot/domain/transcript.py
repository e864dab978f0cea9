"""Pages of a transcript, as it is read back."""

from dataclasses import dataclass

from bot.domain.turn import Event


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    turn: str
    """The turn's id."""
    event: Event
    end: int
    """End of it in the transcript, in bytes."""


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    begin: int = 0
    end: int = 0
    lines: tuple[TranscriptLine, ...] = ()
    before: str = ""
    """The turn of the line before it."""
