"""What one tick can see of one run's world."""

from dataclasses import dataclass, field

from bot.domain.comment import Comment
from bot.domain.issue import Issue
from bot.domain.pull_request import PullRequest
from bot.domain.spend import Spent
from bot.domain.turn import TurnReport, TurnState


@dataclass(frozen=True, slots=True)
class Slot:
    """What the arbiter says about this run's next turn."""

    granted: bool = False
    wait: str = ""
    """Why not yet, for people."""
    ahead: int = 0
    """How many wait for a free slot before this one."""
    silent: bool = False
    """Another run already says what is wrong for all."""
    braked: bool = False
    """It waits for trouble to pass that is not its own."""
    outage: bool = False
    """The model does not answer others either: that it fails is not this run's doing."""


@dataclass(frozen=True, slots=True)
class Observation:
    now: float
    issue: Issue | None
    """None: it is gone."""
    comments: tuple[Comment, ...] = ()
    """From the issue and the pull request, in the order they were said."""
    pull_request: PullRequest | None = None
    turn: TurnReport = field(default=TurnReport(TurnState.LOST))
    """The current turn; lost when no executor knows it."""
    begun: TurnReport | None = None
    """The next turn, if it was started and that could not be noted yet."""
    spent: Spent = field(default=Spent())
    """On this issue, by all its runs, ever."""
    slot: Slot = Slot()
    hidden: int = 0
    """Passages of the issue, and of what trusted people said, that nobody sees and that were left out."""
