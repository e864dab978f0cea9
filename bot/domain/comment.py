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
    id: str = ""
    """Unique like a comment's; also names the thread that an answer goes into. Empty until it was said."""


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
    review: bool = False
    """A submitted review: more of it may follow within a minute."""
    approves: bool = False
    """It approves the change; without a remark there is nothing to do about it."""
    thread: str = ""
    """The thread on the issue that it is a part of; empty: none."""


class Outcome(StrEnum):
    """What has become of a comment. `HANDED` is the only one that is not an end."""

    HANDED = "handed"
    APPLIED = "applied"
    ANSWERED = "answered"
    DECLINED = "declined"
    COMMAND = "command"
    NOT_TRUSTED = "not trusted"


@dataclass(frozen=True, slots=True)
class Heard:
    """A row of the feedback ledger: one per comment we took notice of, and one per inline remark in it."""

    comment: str
    place: Place
    turn: int
    outcome: Outcome
    commit: str = ""
    reason: str = ""
    """Why it was declined, or what was answered: the agent's words."""
