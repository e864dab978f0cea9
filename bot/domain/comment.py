"""Comments on an issue or its pull request, and the record of how each was dealt with."""

from dataclasses import dataclass, field
from enum import StrEnum

from bot.domain.issue import Person
from bot.domain.reaction import Reaction


class CommentPlace(StrEnum):
    ISSUE = "issue"
    PULL_REQUEST = "pull_request"


@dataclass(frozen=True, slots=True)
class Remark:
    """One inline remark of a review."""

    path: str
    line: int
    text: str
    hunk: str = ""
    id: str = ""
    """Unique like a comment's; also names the thread that an answer goes into. Empty until it was posted."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment. A submitted review is one comment with all its remarks."""

    id: str
    """Unique over both places of an issue."""
    place: CommentPlace
    author: Person
    text: str
    at: float
    remarks: tuple[Remark, ...] = ()
    reactions: frozenset[Reaction] = field(default=frozenset())
    """Reactions of the bot."""
    review: bool = False
    """A submitted review: more of it may follow within a minute."""
    approves: bool = False
    """It approves the change; without a remark there is nothing to do about it."""
    thread: str = ""
    """The thread on the issue that it is a part of; empty: none."""
    edited_by: Person | None = None
    """The last editor, if they have no permission: then the author's permission does not count either."""


class CommentOutcome(StrEnum):
    """Outcome of a comment. Only `PENDING` is not final."""

    PENDING = "handed"
    APPLIED = "applied"
    ANSWERED = "answered"
    DECLINED = "declined"
    COMMAND = "command"
    NOT_TRUSTED = "not trusted"


@dataclass(frozen=True, slots=True)
class CommentRecord:
    """A row of the comment ledger: one per comment that was noticed, and one per inline remark in it."""

    comment: str
    place: CommentPlace
    turn: int
    outcome: CommentOutcome
    commit: str = ""
    reason: str = ""
    """Why it was declined, or what was answered: the agent's words."""
