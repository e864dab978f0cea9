"""What `decide` may ask for. Each one is a sentence in the imperative."""

from dataclasses import dataclass
from typing import TypeAlias

from bot.domain.comment import Place, Reaction
from bot.domain.given import Given
from bot.domain.issue import Stage


@dataclass(frozen=True, slots=True)
class StartTurn:
    number: int
    prompt: str
    briefing: str
    session: str
    comments: tuple[str, ...]
    commit_message: str
    budget_usd: float
    model: str = ""
    """What was chosen for this run; empty: what the settings say."""
    base: str = ""
    """The same for the branch to start from."""
    forbids: tuple[str, ...] = ()
    plan: bool = False
    merge: str = ""
    given: Given | None = None
    allowed: tuple[str, ...] = ()
    offer: bool = False
    most_tokens: int = 0
    verified: str = ""


@dataclass(frozen=True, slots=True)
class SendMessage:
    turn: int
    comments: tuple[str, ...]
    """The comment and the remarks that are told."""
    text: str


@dataclass(frozen=True, slots=True)
class CancelTurn:
    turn: int


@dataclass(frozen=True, slots=True)
class PushBranch:
    pass


@dataclass(frozen=True, slots=True)
class OfferPullRequest:
    title: str
    body: str
    base: str = ""
    """Empty: what the settings say."""


@dataclass(frozen=True, slots=True)
class Say:
    """Write or rewrite the one comment that goes by this slug."""

    place: Place
    slug: str
    text: str
    thread: str = ""
    """The inline remark it answers, or the thread on the issue."""
    note: str = ""
    """What goes with it unseen."""
    folder: bool = False
    """It ends in where the worktree is, which only the hands know."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Say where the worktree is, and how its agent's conversation is resumed by hand."""

    place: Place
    slug: str
    again: bool = False
    """A person works there already: nothing of it is to be touched any more."""


@dataclass(frozen=True, slots=True)
class React:
    place: Place
    comment: str
    reaction: Reaction


@dataclass(frozen=True, slots=True)
class ShowLabels:
    add: frozenset[str]
    remove: frozenset[str]


@dataclass(frozen=True, slots=True)
class MoveIssue:
    stage: Stage


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
    """The one on the forge: what it held has been merged."""


Action: TypeAlias = (
    StartTurn
    | SendMessage
    | CancelTurn
    | PushBranch
    | OfferPullRequest
    | Say
    | HandOver
    | React
    | ShowLabels
    | MoveIssue
    | LinkPullRequest
    | SalvageWork
    | RemoveWorkspace
    | RemoveBranch
)
