"""What a tracker tells us, in our own words."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who says things; `trusted` when they may steer."""

    name: str
    email: str = ""
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Issue:
    """One unit of requested work. `key` is what people say aloud: `acme/shop#12`, `ENG-7`."""

    key: str
    title: str
    body: str
    labels: frozenset[str]
    open: bool
    asked_by: Person = field(default=Person("somebody"))
    """Who asked for the work: the one who applied the label, where the tracker tells."""
    created_at: float = 0.0
    priority: int = 0
    """1 is urgent, 4 is low, 0 was never set (and comes last)."""
    url: str = ""
