"""What came in and went out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """One request and how it was answered."""

    document: str
    operation: str = ""
    """Its name; empty if it has none, or could not be read."""
    fields: tuple[str, ...] = ()
    """What it asks of the root: `issues`, `commentCreate`."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    effects: bool = False
    """Whether it is a mutation."""
    by: str = ""
    """The name of whoever asked."""
    at: float = 0.0
    """When it came, by the stand-in's clock."""
    status: int = 0
    """What came of it; a fault may have told the client otherwise."""
    complexity: int = 0
    errors: tuple[str, ...] = ()
    """The codes in its answer."""


@dataclass
class Answer:
    status: int
    body: dict[str, Any]
    complexity: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(one.get("extensions", {}).get("code", "") for one in self.body.get("errors", ()))
