"""What work cost. Rows of a ledger that nothing resets, and their sums."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spend:
    turn: int
    at: float
    usd: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Spent:
    """In all."""

    usd: float = 0.0
    tokens: int = 0
