"""Something people are to be told of once, wherever they are; and how far one channel has been told."""

from dataclasses import dataclass
from enum import StrEnum


class Happening(StrEnum):
    ASKING = "asking"
    REVIEW = "review"
    FAILED = "failed"
    BUDGET = "budget"
    TROUBLE = "trouble"
    """With a part of the house, not with one run."""


@dataclass(frozen=True, slots=True)
class Tiding:
    happening: Happening
    subject: str
    """The run's id, or the name of what is in trouble."""
    occasion: str
    """What tells it from others of its kind: of one occasion people are told once."""
    at: float
    words: str = ""
    """Why, for people; others' words may be among them."""
    over: bool = False
    """Of trouble: it is well again."""
    id: int = 0
    """Its place in the order of things; 0: it is not saved yet."""


@dataclass(frozen=True, slots=True)
class Channel:
    """How far it has been told, by the ids of tidings. One message at a time is under way, of a range of them."""

    id: str
    told: int = 0
    """Everything up to here is told, or was not to be."""
    trying: int = 0
    """A message that tells everything up to here is under way, or was when we died; 0: none."""
    doubted: int = 0
    """Of a message that told everything up to here nobody knows what became of it: it is repeated, and says so."""
    attempts: int = 0
    """That failed in a row."""
    not_before: float = 0.0
    problem: str = ""
    """Why the last one failed; empty: it did not."""
    sent: int = 0
    failed: int = 0
