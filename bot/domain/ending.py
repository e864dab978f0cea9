"""How a turn that an agent had a part in came to its end: what shows whether trouble is one run's own."""

from dataclasses import dataclass

from bot.domain.turn import Failure


@dataclass(frozen=True, slots=True)
class Ending:
    project: str
    key: str
    ordinal: int
    turn: int
    begun_at: float
    at: float
    failure: Failure = Failure.NONE
    """None: it came to a good end."""
    detail: str = ""
    """On one line, and short."""

    @property
    def run_id(self) -> str:
        return f"{self.key}/{self.ordinal}"
