"""How everything is that runs depend on, and what works all the same while something is not well.

Rule: whatever is known, by whoever knows it, comes together here, and nowhere else is said what still works.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_STILL: Mapping[str, str] = {
    "daemon": "Nothing is lost: it finds everything again when it starts",
    "disk": "Agents at work go on; nothing new starts before there is room",
    "database": "Everything works; what was set aside is missing from the history",
    "github": "Agents at work go on; what they do is published once GitHub lets us in",
    "linear": "Agents at work go on; issues are read and written once Linear lets us in",
    "limits": "Agents at work go on; what is to be read or written waits until then",
    "claim": "The other one does the work; this one takes over when it is gone",
    "project": "Other projects go on; people are heard, and pull requests stay open",
    "model": "People are heard, and pull requests stay open; turns go on when the model answers",
    "gate": "People are heard, and pull requests stay open; turns go on when the model answers",
    "look": "Agents at work go on; what people say is heard, and work published, at the next look",
    "budget": "Agents at work go on to the end of their turn; people are heard",
    "notify": "Everything else; labels and comments on the issues, and the dashboard, say the same",
    "sandbox": "Everything works, without protection from what an agent does",
}
"""By the first word of a name."""

SILENT = frozenset({"daemon", "sandbox", "budget", "claim", "notify", "gate"})
"""What nobody is told of as trouble, by the first word: chosen, normal, told otherwise, or not to be told that way."""


@dataclass(frozen=True, slots=True)
class Health:
    name: str
    ok: bool
    detail: str
    still: str = ""
    """What works in spite of it; empty: it is well, or nothing does."""


@dataclass(frozen=True, slots=True)
class Ailment:
    """How it was at the last look, and what people know of it."""

    health: Health
    since: float
    """When it became as it is: well, or not."""
    told: bool = False
    """People were told that it is not well, and not yet that it is."""


def healths(found: Mapping[str, tuple[bool, str]]) -> Mapping[str, Health]:
    """By name: whether it is well, and in which words."""
    return {
        name: Health(name, ok, detail, "" if ok else _STILL.get(name.partition(" ")[0], ""))
        for name, (ok, detail) in found.items()
    }


def is_silent(name: str) -> bool:
    return name.partition(" ")[0] in SILENT
