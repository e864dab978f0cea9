"""Actions that `decide` may order. Each name is a sentence in the imperative."""

from dataclasses import dataclass
from typing import TypeAlias

from bot.domain.comment import CommentPlace
from bot.domain.issue import IssueStage
from bot.domain.reaction import Reaction
from bot.domain.turn import TurnOrder


@dataclass(frozen=True, slots=True)
class StartTurn:
    order: TurnOrder


@dataclass(frozen=True, slots=True)
class SendMessage:
    turn: int
    comments: tuple[str, ...]
    """Ids of the comment and its inline comments."""
    text: str


@dataclass(frozen=True, slots=True)
class CancelTurn:
    turn: int


@dataclass(frozen=True, slots=True)
class PushBranch:
    pass


@dataclass(frozen=True, slots=True)
class StartCI:
    """A person has approved what was pushed last."""


@dataclass(frozen=True, slots=True)
class OfferPullRequest:
    title: str
    body: str
    base: str = ""
    """Empty: what the settings say."""


@dataclass(frozen=True, slots=True)
class PostComment:
    """Writes or rewrites the comment with this slug."""

    place: CommentPlace
    slug: str
    text: str
    thread: str = ""
    """The inline remark it answers, or the thread on the issue."""
    note: str = ""
    """Hidden note in the comment."""
    folder: bool = False
    """Appends the worktree's path, which only `act` knows."""


@dataclass(frozen=True, slots=True)
class PrintHandover:
    """Posts the path of the worktree and the command that resumes the agent's session by hand."""

    place: CommentPlace
    slug: str
    again: bool = False
    """The worktree was handed over before: do not export the session again."""


@dataclass(frozen=True, slots=True)
class React:
    place: CommentPlace
    comment: str
    reaction: Reaction


@dataclass(frozen=True, slots=True)
class ShowLabels:
    add: frozenset[str]
    remove: frozenset[str]


@dataclass(frozen=True, slots=True)
class MoveIssue:
    stage: IssueStage


@dataclass(frozen=True, slots=True)
class LinkPullRequest:
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class SalvageWork:
    tell: bool = True
    """Say on the issue where it is, if there was any; there is nowhere to say it when the issue is gone."""


@dataclass(frozen=True, slots=True)
class RemoveWorkspace:
    pass


@dataclass(frozen=True, slots=True)
class RemoveBranch:
    """Removes the branch from the forge: its content has been merged."""


Action: TypeAlias = (
    StartTurn
    | SendMessage
    | CancelTurn
    | PushBranch
    | StartCI
    | OfferPullRequest
    | PostComment
    | PrintHandover
    | React
    | ShowLabels
    | MoveIssue
    | LinkPullRequest
    | SalvageWork
    | RemoveWorkspace
    | RemoveBranch
)
