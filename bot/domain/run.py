"""A run is the bot's whole involvement with one issue, from label to clean-up."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from bot.domain.change import Objection
from bot.domain.comment import Heard
from bot.domain.extent import Extent
from bot.domain.verification import Verification
from bot.errors import IllegalTransition


class Phase(StrEnum):
    """Who has the ball."""

    QUEUED = "queued"  # us: waiting for a slot, with a reason
    WORKING = "working"  # the agent: a turn is in flight, or about to be tried again
    REVIEW = "review"  # people: a draft pull request is open
    ASKING = "asking"  # people: we need an answer
    DONE = "done"  # nobody: the workspace is gone, the labels are removed


TRANSITIONS: Mapping[Phase, frozenset[Phase]] = MappingProxyType(
    {
        Phase.QUEUED: frozenset({Phase.WORKING, Phase.ASKING, Phase.DONE}),
        Phase.WORKING: frozenset({Phase.REVIEW, Phase.ASKING, Phase.DONE}),
        Phase.REVIEW: frozenset({Phase.WORKING, Phase.ASKING, Phase.DONE}),
        Phase.ASKING: frozenset({Phase.QUEUED, Phase.WORKING, Phase.REVIEW, Phase.DONE}),
        Phase.DONE: frozenset(),
    }
)
"""Every legal move. The diagram in ARCHITECTURE.md is generated from this table and tested against it."""


class Cause(StrEnum):
    """Why a run is where it is, where that matters for what comes next."""

    NONE = ""
    QUESTION = "question"
    NO_CHANGE = "no change"
    FAILED = "failed"
    BUDGET = "budget"
    PAUSED = "paused"
    MODEL = "model"
    """The model refuses our key: everything waits for this run's next try."""
    LIMIT = "limit"
    """What we may use of the model is used up: it goes on at `not_before`, one run ahead of the others."""
    RETRY = "retry"
    """A person said to try now, whatever pauses the others."""
    STOPPED = "stopped"
    """A person ordered it to end."""
    LATE = "late"
    """Its turn took too long, and is being ended."""
    CONSENT = "consent"
    """Somebody who may not steer asked for the work, or changed what was asked."""
    CHECKS = "checks"
    """Its checks stay red."""
    PLAN = "plan"
    """The agent proposed a plan, and waits for approval."""
    TAKEN = "taken"
    """A person has taken the worktree over."""
    HELD = "held"
    """The host objects to what the agent left, so nothing of it is published."""
    CHOICE = "choice"
    """A label names a model or an agent that cannot be had."""


class Errand(StrEnum):
    """What the next turn, or the one in flight, is for besides the issue and what people say."""

    NONE = ""
    PLAN = "plan"
    """Propose, change nothing."""
    APPROVED = "approved"
    """Do what was planned."""
    CHECKS = "checks"
    MERGE = "merge"
    """Take the base in, on a worktree that shows the conflicts."""
    OFFER = "offer"
    """Publish what a turn left and a person has allowed since: no agent is needed."""
    VERIFY = "verify"
    """Mend what verification found broken."""


MERGED = "the pull request was merged"
"""The reason of a run that came to what was hoped for."""


@dataclass(frozen=True, slots=True)
class Overruled:
    """An objection that a person looked at, and allowed."""

    objection: Objection
    by: str


@dataclass(frozen=True, slots=True)
class Run:
    """Only what cannot be observed again: everything else is looked up each tick."""

    key: str
    project: str
    ordinal: int = 1
    """1 for the first time this issue asked for work, then 2, ..."""
    phase: Phase = Phase.QUEUED
    cause: Cause = Cause.NONE
    reason: str = ""
    """For people: why it waits, asks or ended."""
    begun_at: float = 0.0
    changed_at: float = 0.0
    person: str = ""
    """Who asked for it; empty: not known."""
    request: str = ""
    """The act of asking that this run answers."""
    vouched: str = ""
    """Who let it begin, when the one who asked may not steer."""
    accepted: str = ""
    """The edit of the issue, or the stranger's request, whose words a person accepted."""
    ignored: str = ""
    """The edit of the issue that a person said to leave aside."""
    asked_about: str = ""
    """The act of asking, or the edit, that people were last asked to consent to."""
    errand: Errand = Errand.NONE
    model: str = ""
    """What a person chose for this run by command; empty: what the settings say."""
    approved: bool = False
    """A person approved the plan."""
    given: str = ""
    """The comment that handed the worktree back, until a turn has come to a good end with what was done there."""
    fixes: int = 0
    """Turns spent on red checks of this pull request."""
    fixed: str = ""
    """The commit whose red checks a turn was last spent on."""
    merged: str = ""
    """The commit whose conflicts a turn was last spent on."""
    verification: Verification | None = None
    """The latest; of what is broken with its output."""
    rounds: int = 0
    """Turns spent on what it found broken."""
    facts: str = ""
    """The facts as last written into the pull request, in short."""
    held: tuple[Objection, ...] = ()
    """Why what lies in the worktree is not published, as people were last told."""
    allowed: tuple[Overruled, ...] = ()
    words: str = ""
    """What the agent said of the work that is held, or was allowed since."""
    extent: Extent = field(default=Extent())
    """Of what the last turn that was taken in left."""
    refusals: tuple[str, ...] = ()
    """What the sandbox did not let through, in words; the latest."""
    turn: int = 0
    """Turns started so far; also names the current one."""
    ended: int = 0
    """The last turn whose report was taken in. `ended == turn` while working: the next turn is due at `not_before`."""
    turn_at: float = 0.0
    """When the current turn was started."""
    failures: int = 0
    """Failed turns in a row."""
    losses: int = 0
    """Turns in a row that vanished with their process and had done nothing; in quick succession they are one."""
    lost_at: float = 0.0
    """When the last of those was counted."""
    not_before: float = 0.0
    session: str = ""
    session_cost_usd: float = 0.0
    """What the session has cost so far, as its agent counts: money spent is the difference."""
    spent_usd: float = 0.0
    budget_usd: float = 0.0
    """What a person allowed for this run by command; 0: what the settings allow."""
    budget_tokens: int = 0
    """The same in tokens."""
    budget_turns: int = 0
    budget_hours: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    """How long agents have worked on it."""
    heard: tuple[Heard, ...] = ()
    strangers: tuple[str, ...] = ()
    """Whose command was declined aloud."""
    shown: str = ""
    """The progress comment as last written, and when: at most one edit every 15 s while working."""
    shown_at: float = 0.0

    @property
    def id(self) -> str:
        return f"{self.key}/{self.ordinal}"

    def to(self, phase: Phase, *, reason: str = "", cause: Cause = Cause.NONE, now: float) -> Self:
        """The same run in another phase; staying put is always legal."""
        if phase is not self.phase and phase not in TRANSITIONS[self.phase]:
            raise IllegalTransition(f"{self.id}: {self.phase} -> {phase}")
        changed_at = now if phase is not self.phase else self.changed_at
        return replace(self, phase=phase, reason=reason, cause=cause, changed_at=changed_at)
