"""Ports: everything the engine needs from the outside world, on one page.

Rule: every method that changes something is idempotent (`ensure...`, `remove`): calling it twice is calling it once.
That makes "act, then save" safe across a crash. Reading is done in bulk: one snapshot of each tracker and each forge
per tick.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Protocol, runtime_checkable

from bot.domain.change import Change, HandWork
from bot.domain.comment import Comment
from bot.domain.evidence import EvidenceResult
from bot.domain.issue import Issue, IssueStage
from bot.domain.notification import Notification
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequest
from bot.domain.reaction import Reaction
from bot.domain.remote import Remote
from bot.domain.run import Run
from bot.domain.salvage import SalvageLocation
from bot.domain.setup_plan import SetupResult
from bot.domain.spend import Spend, TotalSpend
from bot.domain.turn import AgentTask, Event, Message, TurnOrder, TurnOutcome, TurnReport, Workspace
from bot.domain.verification import Verification


@dataclass(frozen=True, slots=True, eq=False)
class Poll:
    """One poll. What several of its snapshots need, such as a list for tracker and forge, is requested once in it."""

    fresh: bool = True
    """False: the caches of services are recent enough."""


@dataclass(frozen=True, slots=True)
class TrackerView:
    """A tracker at one moment."""

    issues: Mapping[str, Issue] = field(default_factory=dict)
    """Keyed by key: every open issue with the label, and every requested issue that still exists."""
    comments: Mapping[str, tuple[Comment, ...]] = field(default_factory=dict)
    """Comments by people (never by the bot) on those issues, oldest first."""
    unplaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Keyed by key: issues with the label that belong to no project, with the labels that would assign them to one."""


class Tracker(Protocol):
    """The issues of one project."""

    async def snapshot(self, keys: Collection[str], *, poll: Poll | None = None) -> TrackerView:
        """`keys` are requested besides every open issue with the label. Without `poll`, it is a poll of its own."""
        ...

    async def judge_again(self, key: str, comments: Collection[str], *, request: bool) -> TrackerView:
        """Returns these comments on an issue, and with `request` the issue, with current permissions.

        Called right before an action that depends on a permission. Permissions read earlier must not be used. The
        next snapshots agree. Raises Retryable if it cannot be told now; a definite no is no error.
        """
        ...

    async def changed(self) -> bool:
        """Cheap check for changes since the last snapshot. Trackers that cannot tell return False and are polled."""
        ...

    async def ensure_comment(self, key: str, *, slug: str, text: str, note: str = "", thread: str = "") -> None:
        """Write or rewrite the bot's comment with this slug. People do not see the note in it.

        `thread` is the id of the thread it belongs to, where the tracker has threads.
        """
        ...

    async def find_orphaned(self, labels: Collection[str]) -> Collection[str]:
        """Keys of issues that still carry our labels and belong to no run.

        Those are recently closed issues with the label, and open issues with one of `labels` but without the label.
        """
        ...

    async def read_run_notes(self, key: str) -> Sequence[str]:
        """Notes in the bot's comments, oldest first, including notes from a lost state directory."""
        ...

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None: ...
    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None: ...


@runtime_checkable
class IssueStates(Protocol):
    """Workflow states and links of issues, for trackers that have them."""

    async def ensure_stage(self, key: str, stage: IssueStage) -> None:
        """Does nothing if a person has just moved the issue."""
        ...

    async def ensure_link(self, key: str, *, url: str, title: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ForgeView:
    """A forge at one moment: the bot's own pull requests and branches."""

    pulls: Mapping[str, PullRequest] = field(default_factory=dict)
    """Keyed by branch: the newest pull request of each of our branches, in any state."""
    comments: Mapping[str, tuple[Comment, ...]] = field(default_factory=dict)
    """Keyed by branch: comments by people on those pull requests, oldest first."""
    branches: frozenset[str] = frozenset()
    """Our branches that exist on the forge now, with or without a pull request."""


class Forge(Protocol):
    """The pull requests and branches of one project."""

    async def snapshot(self, branches: Collection[str], *, poll: Poll | None = None) -> ForgeView: ...
    async def judge_again(self, branch: str, comments: Collection[str]) -> ForgeView:
        """Returns these comments on a pull request with current permissions, like `Tracker.judge_again`."""
        ...

    async def remote(self) -> Remote:
        """The repository's address and credential, ready to fetch from."""
        ...

    async def find_renamed(self, branch: str) -> str:
        """Returns the present name of a branch that is missing; empty if nothing proves that it was renamed."""
        ...

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        """Open the draft of a branch, or rewrite its body between the markers. Raises Retryable if it was closed."""
        ...

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        """`thread` is the id of the inline remark it answers; empty for a comment in the conversation."""
        ...

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None: ...
    async def remove_branch(self, branch: str) -> None:
        """Keeps the branch if it has commits that its pull request lacks."""
        ...


class LeaseState(Enum):
    HELD = auto()
    REACQUIRED = auto()
    """Ours again, after another daemon had it: what is remembered here may be old."""
    HELD_ELSEWHERE = auto()


class Lease(Protocol):
    """The right to act on one repository, which several daemons may serve."""

    async def ensure(self, *, quiet: bool = False) -> LeaseState:
        """Acquire or renew it if due. Called often; cheap while it is held.

        `quiet`: no agent works, so it need not be free soon if this process dies, and is renewed rarely.
        """
        ...

    def check(self) -> None:
        """Call right before each write. Raises Elsewhere when another daemon might hold it by now."""
        ...

    async def release(self) -> None:
        """Let another daemon acquire it at once, instead of after it expires."""
        ...


class Workspaces(Protocol):
    """Git worktrees of one repository, one per run; the only place where agents may write."""

    async def ensure(self, branch: str, *, base: str, remote: Remote, merge: str = "") -> Workspace:
        """Fetch, then create the worktree or find it as it was left. An interrupted call leaves no worktree.

        Commits that people pushed to the branch are taken over, or merged with those that only we have.
        `merge` names a branch to merge in: files with conflicts keep their conflict markers, and the next `capture`
        makes the merge commit. A merge without conflicts is committed at once. Raises NoBranch if the branch that it
        was, or is to be, started from is not there.
        """
        ...

    async def capture(
        self, branch: str, *, message: str, at: float, allowed: Collection[str] = (), forbids: Collection[str] = ()
    ) -> Change:
        """Commit the worktree's content on top of the branch. The same content and `at` give the same commit id.

        An objection whose id is not in `allowed` prevents the commit: the change then carries the objections.
        """
        ...

    async def fit_rewritten(self, branch: str, change: Change, *, remote: Remote) -> Change:
        """Move a captured change onto the remote's branch, if people rewrote that during the turn. Returns the change.

        One that does not fit stays as it is; pushing it raises NeedsHuman.
        """
        ...

    async def ensure_pushed(self, branch: str, *, remote: Remote, holds_ci: bool = False) -> None:
        """Merges other people's commits, never overwrites them, and publishes nothing again that they removed.

        Raises NeedsTurn on conflicts, or if ours are lost; NeedsHuman if people removed what our work is about.

        With `holds_ci`, an empty commit on top keeps the forge's workflows from starting.
        """
        ...

    async def ensure_ci_started(self, branch: str, *, remote: Remote) -> None:
        """Start the workflows of what was pushed last, by another empty commit. Later commits are held again."""
        ...

    def folder(self, branch: str) -> Path:
        """Path of its worktree."""
        ...

    async def disarm(self, branch: str) -> None:
        """Make the worktree's git directory safe for a person to use, whatever an agent left in it."""
        ...

    async def take_back(self, branch: str, *, message: str, at: float, allowed: Collection[str] = ()) -> HandWork:
        """Commit a person's changes in the worktree. A repeated call returns the same."""
        ...

    async def put_back(self, branch: str) -> str:
        """Salvage and undo uncommitted changes. Returns the salvage ref; empty if there were none."""
        ...

    async def salvage(self, branch: str) -> str:
        """Keep unpublished work on a ref that outlives the worktree, or in a folder, if it is too much for that.

        Returns its name or path; empty if there is none.
        """
        ...

    async def remove(self, branch: str) -> None: ...

    async def share(self, ref: str, *, remote: Remote) -> SalvageLocation: ...


class WorktreeSetup(Protocol):
    """Setup, verification and teardown of the worktrees of one project."""

    async def ensure(
        self, workspace: Workspace, turn_id: str, notice: "EventSink", allowed: Collection[str] = ()
    ) -> SetupResult:
        """Runs setup unless it is up to date. A failure is in the result, not raised.

        `allowed`: ids of objections that a person has approved.
        """
        ...

    async def verify(
        self, workspace: Workspace, change: Change, turn_id: str, notice: "EventSink", allowed: Collection[str] = ()
    ) -> Verification | None:
        """Runs the tests on the change's head, and those that fail on its base. None if no command is known."""
        ...

    async def tear_down(self, branch: str) -> None:
        """Failures are logged, not raised. Does nothing if there is no worktree."""
        ...


class Inbox(Protocol):
    """Messages for an agent at work."""

    async def get(self) -> Message: ...


EventSink = Callable[[Event], None]
CollectEvidence = Callable[[Path, str, str], Awaitable[EvidenceResult]]
"""Keeps the evidence in a worktree, by run id and turn. Idempotent. Call it only while nothing runs in the worktree."""


class Agent(Protocol):
    """Turns a prompt into changes. When cancelled, it interrupts the agent, ends its processes and re-raises."""

    async def run(self, work: AgentTask, inbox: Inbox, notice: EventSink) -> TurnReport: ...
    def by_hand(self, *, folder: Path, home: Path, session: str) -> str:
        """Command that continues the session; empty if there is no session yet."""
        ...

    async def hand_over(self, home: Path, session: str) -> None:
        """Export the session for that command. Overwrites an earlier export."""
        ...

    async def take_back(self, home: Path, session: str) -> None:
        """Import the session as a person left it, if there is one. Idempotent."""
        ...


class Executor(Protocol):
    """Runs turns. Executors know *where*, agents know *how*, the engine knows *why*."""

    async def ensure_started(self, request: TurnOrder) -> None: ...
    async def reports(self) -> Mapping[str, TurnReport]:
        """Keyed by turn id: every turn it knows, running or ended."""
        ...

    async def send(self, turn_id: str, message: Message) -> None:
        """Send a message to the running session, once per message id. Raises Retryable when the turn has ended."""
        ...

    async def cancel(self, turn_id: str) -> None:
        """End the turn and wait for its processes to end. Work and session are kept; the report says `stopped`."""
        ...

    async def release(self, turn_id: str) -> None:
        """Its report has been saved and may be forgotten."""
        ...


class TurnStore(Protocol):
    """Reports that an executor must find again after its process has died."""

    def keep_report(self, turn_id: str, report: TurnReport, *, at: float) -> None: ...
    def kept_reports(self) -> Mapping[str, TurnReport]:
        """Keyed by turn id: the final report, or the latest progress."""
        ...

    def forget_report(self, turn_id: str) -> None: ...


class Store(Protocol):
    """Runs, money and journal, remembered between ticks."""

    def active(self) -> Sequence[Run]: ...
    def ended_unshown(self) -> Sequence[Run]:
        """The newest runs of issues that are over, and whose end a service refused to show."""
        ...

    def ended_with_pull_request(self, project: str) -> Sequence[Run]:
        """The newest runs of issues that are over because their pull request was closed."""
        ...

    def last_ordinal(self, key: str) -> int: ...
    def find_run(self, key: str) -> Run | None: ...  # the newest of an issue
    def take_over(self, run: Run, *, at: float) -> None:
        """Replace the stored run by the state that another daemon noted. Money that it spent counts."""
        ...

    def save(
        self,
        run: Run,
        *,
        at: float,
        notes: Sequence[str] = (),
        spend: Spend | None = None,
        outcome: TurnOutcome | None = None,
        notifications: Sequence[Notification] = (),
    ) -> None:
        """Save the run, its cost, turn outcome, journal entries and notifications in one transaction."""
        ...

    def turn_outcomes(self) -> Sequence[TurnOutcome]:
        """Turn outcomes of every project, oldest first, from shortly before its last success on."""
        ...

    def spent(self, *, since: float) -> float: ...
    def spent_by_issue(self) -> Mapping[str, TotalSpend]: ...


class HandoverCommand(Protocol):
    """Hands the runs of one project over to people."""

    async def __call__(self, branch: str, session: str, *, again: bool) -> str:
        """Command that continues the session, which is exported first unless `again`; empty if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Project:
    """The issues, the repository and the policy of one project."""

    name: str
    tracker: Tracker
    forge: Forge
    workspaces: Workspaces
    policy: Policy
    hand_over: HandoverCommand
    issue_states: IssueStates | None = None
    """Is None if the tracker has neither states nor links."""
    lease: Lease | None = None
    """Is None if no other daemon serves this repository."""
    setup: WorktreeSetup | None = None
    """Is None if worktrees need no setup."""
    collect_evidence: CollectEvidence | None = None
    find_secrets: Callable[[str], Sequence[str]] = lambda _: ()
    """Names of the host's own secrets that a text contains."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All ports of the engine."""

    projects: Mapping[str, Project]
    executor: Executor
    store: Store
