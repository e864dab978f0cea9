"""A run is the bot's whole involvement with one issue, from label to clean-up."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from bot.domain.change import DiffStat, Objection
from bot.domain.comment import CommentPlace, CommentRecord
from bot.domain.verification import Verification
from bot.errors import IllegalTransition


class Phase(StrEnum):
    """Phase of a run: says who has to act next."""

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


class WaitReason(StrEnum):
    """Why a run waits or asks, as far as the next step depends on it."""

    NONE = ""
    QUESTION = "question"
    NO_CHANGE = "no change"
    FAILED = "failed"
    BUDGET = "budget"
    DAY_BUDGET = "day"
    """The budget of the day is spent: the run continues by itself when there is money again."""
    PAUSED = "paused"
    KEY_REFUSED = "model"
    """The model refuses our key: everything waits for this run's next try."""
    USAGE_LIMIT = "limit"
    """The usage limit of the model is reached: the run continues at `not_before`, one run before the others."""
    RETRY = "retry"
    """A person said to try now, whatever pauses the others."""
    STOPPED = "stopped"
    """A person ordered it to end."""
    OVERDUE = "late"
    """Its turn took too long, and is being ended."""
    CONSENT = "consent"
    """Somebody who may not steer asked for the work, or changed what was asked."""
    CHECKS = "checks"
    """Its checks stay red."""
    PLAN = "plan"
    """The agent proposed a plan, and waits for approval."""
    TAKEN_OVER = "taken"
    """A person has taken the worktree over."""
    BLOCKED = "held"
    """The host objects to what the agent left, so nothing of it is published."""
    MODEL_CHOICE = "choice"
    """A label names a model or an agent that cannot be had."""


class TurnPurpose(StrEnum):
    """Purpose of the next turn, or of the turn in flight, besides the issue and the comments."""

    NONE = ""
    PLAN = "plan"
    """Propose, change nothing."""
    CARRY_OUT_PLAN = "approved"
    """Do what was planned."""
    FIX_CI = "checks"
    MERGE_BASE = "merge"
    """Take the base in, on a worktree that shows the conflicts."""
    PUBLISH = "offer"
    """Publish what a turn left: a person has allowed it since, or it was interrupted after its agent had finished."""
    FIX_VERIFICATION = "verify"
    """Fix what verification found broken."""


MERGED = "the pull request was merged"
"""The reason of a run that came to what was hoped for."""


@dataclass(frozen=True, slots=True)
class ApprovedObjection:
    """An objection that a person looked at, and allowed."""

    objection: Objection
    by: str
    comment: str = ""
    """Id of the comment that says so; empty in records of older versions."""


@dataclass(frozen=True, slots=True)
class RunConsent:
    """Permission for work that was requested or edited by somebody who may not steer."""

    requester_approved_by: str = ""
    """Login of the person who approved the request; empty if the requester may steer or nobody has approved it."""
    accepted_edit: str = ""
    """Id of the edit of the issue, or of the untrusted request, whose text a person accepted."""
    ignored_edit: str = ""
    """Id of the edit of the issue that a person ordered to leave aside."""
    asked_for: str = ""
    """The request, edit or comments that people were last asked to approve."""
    accepted_comments: tuple[str, ...] = ()
    """Comments with a digest of their text that a person accepted: their author or editor may not steer."""
    approved_in: str = ""
    """Id of the comment with the last approval: it counts while its author may steer."""


@dataclass(frozen=True, slots=True)
class RunHold:
    """Work that the publish guard blocked."""

    objections: tuple[Objection, ...] = ()
    """Why the work in the worktree is not published, as people were last told."""
    allowed: tuple[ApprovedObjection, ...] = ()
    agent_summary: str = ""
    """The agent's closing words about work that is blocked, or was allowed since."""


@dataclass(frozen=True, slots=True)
class RunChecks:
    """Fixes of red checks, of conflicts, and of failed verification; and the latest verification."""

    ci_fix_attempts: int = 0
    """Turns spent on red checks of this pull request."""
    ci_fixed_head: str = ""
    """The commit whose red checks a turn was last spent on."""
    merge_fixed_head: str = ""
    """The commit whose conflicts a turn was last spent on."""
    verification: Verification | None = None
    """The latest; regressions keep their output."""
    verify_attempts: int = 0
    """Turns spent on regressions that verification found."""
    shown_digest: str = ""
    """Digest of the paragraph about checks that the pull request shows."""
    ci_held_at: float = 0.0
    """Time of the last push whose CI waits for approval; 0: nothing waits."""


@dataclass(frozen=True, slots=True)
class RunTurns:
    number: int = 0
    """Turns started so far; also names the current turn."""
    ended: int = 0
    """The last turn whose report was taken in. Equals `number` between two attempts of a working run."""
    started_at: float = 0.0
    """Start of the current turn."""
    failures: int = 0
    """Failed turns in a row."""
    losses: int = 0
    """Turns in a row that vanished with their process before the agent did anything; in quick succession they count
    as one."""
    lost_at: float = 0.0
    """Time of the last counted loss."""
    not_before: float = 0.0
    """Earliest start of the next turn."""


@dataclass(frozen=True, slots=True)
class RunSpend:
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    """Seconds agents have worked on it."""
    session_cost_usd: float = 0.0
    """The session's cost so far, as its agent counts: money spent is the difference."""


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Limits that a person set for this run by command; 0: the settings decide."""

    usd: float = 0.0
    tokens: int = 0
    turns: int = 0
    hours: float = 0.0


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The progress comment as last written: at most one edit every 15 s while working."""

    digest: str = ""
    shown_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Unshown:
    """A label, comment, reaction, state or link that a service refused."""

    effect: str
    """The same effect has the same name when it is tried again."""
    why: str
    retry_at: float
    times: int = 1
    """Refusals in a row."""
    announced: bool = False
    """The pull request has a comment about it."""
    slug: str = ""
    """Slug of a comment that is posted once; empty for an effect that follows from the run's present state."""
    place: CommentPlace = CommentPlace.ISSUE
    text: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Only facts that cannot be observed again: everything else is looked up each tick."""

    key: str
    project: str
    ordinal: int = 1
    """1 for the first time this issue asked for work, then 2, ..."""
    phase: Phase = Phase.QUEUED
    wait_reason: WaitReason = WaitReason.NONE
    reason: str = ""
    """Explanation for people: why it waits, asks or ended."""
    begun_at: float = 0.0
    changed_at: float = 0.0
    person: str = ""
    """Login of the person who asked for the work; empty if unknown."""
    request: str = ""
    """Id of the request that this run answers."""
    purpose: TurnPurpose = TurnPurpose.NONE
    """Purpose of the next turn, or of the turn in flight."""
    model: str = ""
    """Model that a person chose for this run by command; empty: the settings decide."""
    plan_approved: bool = False
    handback_comment: str = ""
    """Id of the comment that handed the worktree back, until a turn has succeeded with the work done by hand."""
    session: str = ""
    diff_stat: DiffStat = field(default=DiffStat())
    """Size of the change after the last turn that was taken in."""
    refusals: tuple[str, ...] = ()
    """Accesses that the sandbox refused, for people; the latest."""
    comments: tuple[CommentRecord, ...] = ()
    unshown: tuple[Unshown, ...] = ()
    """Effects that a service refused; they are tried again later."""
    refused_users: tuple[str, ...] = ()
    """Logins of people whose command was refused with a reply."""
    question: str = ""
    """Id of the question that waits for approval, as people see it; empty if the last question was another kind."""
    asked_at: float = 0.0
    """Time when that question could be seen; 0: unknown."""
    consent: RunConsent = RunConsent()
    hold: RunHold = RunHold()
    checks: RunChecks = RunChecks()
    turns: RunTurns = RunTurns()
    spend: RunSpend = RunSpend()
    budget: RunBudget = RunBudget()
    status: RunStatus = RunStatus()

    @property
    def id(self) -> str:
        return f"{self.key}/{self.ordinal}"

    @property
    def has_turn_in_flight(self) -> bool:
        return self.phase is Phase.WORKING and self.turns.ended < self.turns.number

    @property
    def is_between_turns(self) -> bool:
        """The slot is kept, and the next turn is due at `turns.not_before`."""
        return self.phase is Phase.WORKING and self.turns.ended == self.turns.number

    def to(self, phase: Phase, *, reason: str = "", wait_reason: WaitReason = WaitReason.NONE, now: float) -> Self:
        """The same run in another phase; staying put is always legal."""
        if phase is not self.phase and phase not in TRANSITIONS[self.phase]:
            raise IllegalTransition(f"{self.id}: {self.phase} -> {phase}")
        changed_at = now if phase is not self.phase else self.changed_at
        return replace(self, phase=phase, reason=reason, wait_reason=wait_reason, changed_at=changed_at)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A line of the journal."""

    at: float
    text: str
