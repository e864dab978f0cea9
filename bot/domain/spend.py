"""What work cost. Rows of a ledger that nothing resets, and their sums."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spend:
    turn: int
    at: float
    usd: float
    tokens: int
    seconds: float = 0.0
    """How long an agent was at it."""


@dataclass(frozen=True, slots=True)
class Spent:
    """In all."""

    usd: float = 0.0
    tokens: int = 0
    turns: int = 0
    """Those in which an agent was asked for anything, lost ones included."""
    seconds: float = 0.0
