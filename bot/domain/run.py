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

    QUEUED = "queued"  # Treehand: the run waits for a slot, with a reason
    WORKING = "working"  # the agent: a turn is in flight, or will be retried
    REVIEW = "review"  # people: a draft pull request is open
    ASKING = "asking"  # people: an answer is needed
    DONE = "done"  # no one: the workspace and the labels are removed


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
    """The model's service rejects the key: all runs wait for this run's next attempt."""
    USAGE_LIMIT = "limit"
    """The usage limit of the model is reached: the run continues at `not_before`, one run before the others."""
    RETRY = "retry"
    """A person ordered a retry: pauses and limits do not apply."""
    STOPPED = "stopped"
    """A person ordered it to end."""
    OVERDUE = "late"
    """Its turn exceeded its time limit and is being stopped."""
    CONSENT = "consent"
    """A person without permission requested the work, or changed the request."""
    CHECKS = "checks"
    """Its checks still fail."""
    PLAN = "plan"
    """The agent proposed a plan, and waits for approval."""
    TAKEN_OVER = "taken"
    """A person has taken over the worktree."""
    BLOCKED = "held"
    """The agent's changes are held back until a person approves them."""
    MODEL_CHOICE = "choice"
    """A label names an unknown model or agent."""


class TurnPurpose(StrEnum):
    """Purpose of the next turn, or of the turn in flight, besides the issue and the comments."""

    NONE = ""
    PLAN = "plan"
    """Propose a plan and change nothing."""
    CARRY_OUT_PLAN = "approved"
    """Carry out the plan."""
    FIX_CI = "checks"
    MERGE_BASE = "merge"
    """Merge the base, in a worktree with conflict markers."""
    PUBLISH = "offer"
    """Publish changes without an agent: approved since, or left by a turn that was paused after its agent had ended."""
    FIX_VERIFICATION = "verify"
    """Fix regressions that verification found."""
    REVIEW = "review"
    """No turn: everything was published before the run was paused, so it returns to the review."""


MERGED = "the pull request was merged"
"""End reason of a run whose pull request was merged."""
CLOSED = "the pull request was closed"
"""End reason of a run whose pull request was closed: it continues if a person reopens that."""


@dataclass(frozen=True, slots=True)
class ApprovedObjection:
    """An objection that a person reviewed and approved."""

    objection: Objection
    by: str
    comment: str = ""
    """Id of the comment with the approval; empty in records of older versions."""


@dataclass(frozen=True, slots=True)
class RunConsent:
    """Permission for work that was requested or edited by a person without permission."""

    requester_approved_by: str = ""
    """Login of the person who approved the request; empty if the requester may steer or nobody has approved it."""
    accepted_edit: str = ""
    """Id of the edit of the issue, or of the untrusted request, whose text a person approved."""
    ignored_edit: str = ""
    """Id of the edit of the issue that a person ordered to ignore."""
    asked_for: str = ""
    """The request, edit or comments that people were last asked to approve."""
    accepted_comments: tuple[str, ...] = ()
    """Approved comments, each with a digest of its text: the author or editor has no permission."""
    approved_in: str = ""
    """Id of the comment with the last approval: it counts while its author may steer."""


@dataclass(frozen=True, slots=True)
class RunHold:
    """Changes that the publish guard holds back."""

    objections: tuple[Objection, ...] = ()
    """Reasons why the changes are held back, as last posted."""
    allowed: tuple[ApprovedObjection, ...] = ()
    agent_summary: str = ""
    """The agent's summary of changes that are, or were, held back."""


@dataclass(frozen=True, slots=True)
class RunChecks:
    """Fixes of failed checks, of conflicts, and of regressions; and the latest verification."""

    ci_fix_attempts: int = 0
    """Turns spent on failed checks of this pull request."""
    ci_fixed_head: str = ""
    """The commit whose failed checks a turn last tried to fix."""
    merge_fixed_head: str = ""
    """The commit whose conflicts a turn last tried to resolve."""
    verification: Verification | None = None
    """The latest; regressions keep their output."""
    verify_attempts: int = 0
    """Turns spent on regressions that verification found."""
    shown_digest: str = ""
    """Digest of the paragraph about checks that the pull request shows."""
    ci_held_at: float = 0.0
    """Time of the last push whose CI waits for approval; 0: no CI waits."""


@dataclass(frozen=True, slots=True)
class RunTurns:
    number: int = 0
    """Turns started so far; also names the current turn."""
    ended: int = 0
    """The last turn whose report was processed. Equals `number` between two attempts of a working run."""
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
    unpriced: str = ""
    """The last model whose price was not known, so that the money is a guess; empty if all were known."""


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
    reopened: bool = False
    """A person reopened its pull request: until the next request, it needs no label."""
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
    stuck: str = ""
    """Slug of the comment that says why a step fails for long; empty while it succeeds."""
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
