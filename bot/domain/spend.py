"""What one turn cost. A row of a ledger that nothing resets."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spend:
    turn: int
    at: float
    usd: float
    tokens: int
