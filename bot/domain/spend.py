"""Cost of work: rows of a ledger that nothing resets, and their totals."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spend:
    turn: int
    at: float
    usd: float
    tokens: int
    seconds: float = 0.0
    """Seconds an agent worked."""
    claimed_usd: float | None = None
    """The agent's figure, if it differs from the count of the host; not stored."""
    unseen_usd: float = 0.0
    """Part of `usd`: the most that requests may have cost whose answers nobody has seen; not stored."""


@dataclass(frozen=True, slots=True)
class TotalSpend:
    """Sum over all turns."""

    usd: float = 0.0
    tokens: int = 0
    turns: int = 0
    """Turns with a request to an agent, lost ones included."""
    seconds: float = 0.0
