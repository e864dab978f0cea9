"""Health of each dependency, and the sentence that says what still works without it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_STILL: Mapping[str, str] = {
    "daemon": "Nothing is lost: it continues when it starts",
    "disk": "Running agents continue; no turn starts before space is free",
    "database": "Everything works; runs in the damaged file are missing from the history",
    "limits": "Running agents continue; requests wait until that time",
    "lease": "The other daemon does the work; this one takes over when the other ends",
    "project": "Other projects continue; comments are read, and pull requests stay open",
    "model": "Comments are read, and pull requests stay open; turns continue when the model answers",
    "proxy": "Comments are read, and pull requests stay open; turns continue when the model answers",
    "pool": "Everything works; runs start as slowly as without a pool",
    "poll": "Running agents continue; comments are read and work is published at the next poll",
    "budget": "Running agents stop at their next request to the model, and keep their work; comments are read",
    "notify": "Everything else works; issues and dashboard show the same messages",
    "sandbox": "Everything works, but agents are not confined",
    "settings": "Everything works, with the settings from before",
}
"""Features that still work, by the first word of a name."""

SILENT = frozenset({"daemon", "sandbox", "budget", "lease", "notify", "proxy", "settings"})
"""First words of names without notifications: chosen by the operator, normal, or announced in another way."""


@dataclass(frozen=True, slots=True)
class Health:
    name: str
    ok: bool
    detail: str
    still_works: str = ""
    """Features that still work; empty if it is healthy or none does."""


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """Health at the last check, and whether people know of it."""

    health: Health
    since: float
    """Time of the last change between healthy and failing."""
    notified: bool = False
    """A problem was announced, and its end not yet."""


def health_by_name(
    found: Mapping[str, tuple[bool, str]], still: Mapping[str, str] = MappingProxyType({})
) -> Mapping[str, Health]:
    """Returns the health by name. `still` adds the features that work without it, by first word."""
    known = {**_STILL, **still}
    return {
        name: Health(name, ok, detail, "" if ok else known.get(name.partition(" ")[0], ""))
        for name, (ok, detail) in found.items()
    }


def is_silent(name: str) -> bool:
    return name.partition(" ")[0] in SILENT
