"""What people say on an issue or its pull request, and what has become of it."""

from dataclasses import dataclass, field
from enum import StrEnum

from bot.domain.issue import Person


class Place(StrEnum):
    ISSUE = "issue"
    PULL_REQUEST = "pull_request"


class Reaction(StrEnum):
    SEEN = "eyes"
    ENDED = "rocket"


@dataclass(frozen=True, slots=True)
class Remark:
    """One inline remark of a review."""

    path: str
    line: int
    text: str
    hunk: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """One thing said. A submitted review is one comment with all its remarks."""

    id: str
    """Unique over both places of an issue."""
    place: Place
    author: Person
    text: str
    at: float
    remarks: tuple[Remark, ...] = ()
    reactions: frozenset[Reaction] = field(default=frozenset())
    """Those that are ours."""


class Outcome(StrEnum):
    """What has become of a comment. `HANDED` is the only one that is not an end."""

    HANDED = "handed"
    APPLIED = "applied"
    ANSWERED = "answered"
    COMMAND = "command"
    NOT_TRUSTED = "not trusted"


@dataclass(frozen=True, slots=True)
class Heard:
    """A row of the feedback ledger: one per comment we took notice of."""

    comment: str
    place: Place
    turn: int
    outcome: Outcome
    commit: str = ""
