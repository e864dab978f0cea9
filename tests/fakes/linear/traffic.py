"""Records of requests and responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """One request and its response."""

    document: str
    operation: str = ""
    """Its name; empty if it has none, or could not be read."""
    fields: tuple[str, ...] = ()
    """Root fields: `issues`, `commentCreate`."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    effects: bool = False
    """True for a mutation."""
    by: str = ""
    """Name of the requester."""
    at: float = 0.0
    """Time of arrival by the stand-in's clock."""
    status: int = 0
    """Its effects; a fault may have sent another answer."""
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
