"""Everything the engine needs from the outside world, on one page.

Every verb that changes something is idempotent (`ensure...`, `remove`): doing it twice is doing it once. That makes
"act, then save" safe across a crash. Looking is done in bulk: one snapshot of each tracker and each forge per tick.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from bot.claim import Tenure
from bot.domain.change import Change, HandWork
from bot.domain.comment import Comment, Reaction
from bot.domain.ending import Ending
from bot.domain.evidence import Shown
from bot.domain.issue import Issue, Stage
from bot.domain.notification import Tiding
from bot.domain.policy import Policy
from bot.domain.pull_request import PullRequest
from bot.domain.remote import Remote
from bot.domain.run import Run
from bot.domain.salvage import Kept
from bot.domain.setup_plan import Ready
from bot.domain.spend import Spend, Spent
from bot.domain.turn import Event, Message, TurnReport, TurnRequest, Work, Workspace
from bot.domain.verification import Verification


@dataclass(frozen=True, slots=True)
class TrackerView:
    """A tracker at one moment."""

    issues: Mapping[str, Issue] = field(default_factory=dict)
    """Every open issue with the label, and every issue asked about that still exists, by key."""
    comments: Mapping[str, tuple[Comment, ...]] = field(default_factory=dict)
    """What people (never the bot) said on those, oldest first."""
    unplaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Issues with the label that belong to no project, by key, with the labels that would say to which."""


class Tracker(Protocol):
    """Where work is asked for. One per project."""

    async def look(self, keys: Collection[str], *, fresh: bool = True) -> TrackerView:
        """Not `fresh`: what it knows already may do, so that a tick between two polls costs no request."""
        ...

    async def changed(self) -> bool:
        """Cheaply: may a look find something new? Trackers that cannot tell say no, and are polled."""
        ...

    async def ensure_comment(self, key: str, *, slug: str, text: str, note: str = "", thread: str = "") -> None:
        """Write or rewrite the one comment of ours that goes by this slug. People do not see the note in it.

        `thread`: the one it is a part of, where the tracker has threads.
        """
        ...

    async def find_left(self, labels: Collection[str]) -> Collection[str]:
        """Issues nobody has tidied up: closed lately with the label, or open with one of these and without it."""
        ...

    async def recall(self, key: str) -> Sequence[str]:
        """The notes in our comments there, oldest first: what lives that we know nothing of wrote, too."""
        ...

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None: ...
    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None: ...


@runtime_checkable
class Board(Protocol):
    """What some trackers have besides. One per project whose issues have a standing, or links."""

    async def ensure_stage(self, key: str, stage: Stage) -> None:
        """Unless somebody has moved it in this moment."""
        ...

    async def ensure_link(self, key: str, *, url: str, title: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ForgeView:
    """A forge at one moment, as far as it is ours."""

    pulls: Mapping[str, PullRequest] = field(default_factory=dict)
    """The newest pull request of each of our branches, whatever its state."""
    comments: Mapping[str, tuple[Comment, ...]] = field(default_factory=dict)
    """What people said on those, by branch, oldest first."""
    branches: frozenset[str] = frozenset()
    """Our branches that exist there now, pull request or not."""


class Forge(Protocol):
    """Where code is offered for review. One per project."""

    async def look(self, branches: Collection[str], *, fresh: bool = True) -> ForgeView: ...
    async def remote(self) -> Remote:
        """Ready to fetch from: whatever it takes has been done."""
        ...

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        """Open the one draft of a branch, or rewrite its body between its markers. Retryable when that is over."""
        ...

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        """`thread`: the id of the inline remark it answers; empty: it goes into the conversation."""
        ...

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None: ...
    async def remove_branch(self, branch: str) -> None:
        """Unless it holds what its pull request does not."""
        ...


class Claim(Protocol):
    """Which of the daemons that serve one repository may act on it. One per project."""

    async def ensure(self) -> Tenure:
        """Take it, or keep it, if that is due. Often asked, and cheap while it is held."""
        ...

    def check(self) -> None:
        """Right before each write. Raises Elsewhere when another daemon might have it by now."""
        ...

    async def release(self) -> None:
        """We go, and whoever waits need not wait longer."""
        ...


class Workspaces(Protocol):
    """Where agents may write: one git worktree per run, all of one repository."""

    async def ensure(self, branch: str, *, base: str, remote: Remote, merge: str = "") -> Workspace:
        """Fetch, then make the worktree, or find it as it was left. Whole or not at all.

        What people made of the branch is taken over, or merged with what only we have.
        `merge` names a branch to take in: what git can merge is merged, the rest is there with its conflict markers,
        and the next `capture` makes the merge commit. A merge without conflicts is committed at once.
        """
        ...

    async def capture(
        self, branch: str, *, message: str, at: float, allowed: Collection[str] = (), forbids: Collection[str] = ()
    ) -> Change:
        """Commit what the worktree holds, on top of the branch. The same content at the same `at`: the same id.

        What it objects to, unless its id is in `allowed`, is committed nowhere: the change then carries objections.
        """
        ...

    async def ensure_pushed(self, branch: str, *, remote: Remote) -> None:
        """Never over other people's commits: they are merged with ours. NeedsTurn: they conflict, or ours are lost."""
        ...

    def folder(self, branch: str) -> Path:
        """Where its worktree is, for people."""
        ...

    async def disarm(self, branch: str) -> None:
        """A person is about to use git in the worktree: what an agent left in its git directory is to do nothing."""
        ...

    async def take_back(self, branch: str, *, message: str, at: float, allowed: Collection[str] = ()) -> HandWork:
        """Commit what a person changed in the worktree by hand. A repeat says the same."""
        ...

    async def put_back(self, branch: str) -> str:
        """Undo what is not committed, salvaged first. Where it went; empty: there was nothing."""
        ...

    async def salvage(self, branch: str) -> str:
        """Put work that is published nowhere on a ref that outlives the worktree. Its name; empty: nothing to save."""
        ...

    async def remove(self, branch: str) -> None: ...

    async def share(self, ref: str, *, remote: Remote) -> Kept: ...


class Readiness(Protocol):
    """What is done in a worktree before an agent begins, when it is through, and before it goes. One per project."""

    async def ensure(self, workspace: Workspace, turn_id: str, notice: "Notice") -> Ready:
        """Does it, unless it is done and nothing it depends on has changed. What is in the way is in the answer."""
        ...

    async def verify(self, workspace: Workspace, change: Change, turn_id: str, notice: "Notice") -> Verification | None:
        """Of the change's head; what is red is held against its base. None: there is nothing to verify by."""
        ...

    async def tear_down(self, branch: str) -> None:
        """In nobody's way: what fails is logged. Without a worktree there is nothing to do."""
        ...


class Inbox(Protocol):
    """What the agent is told while it works."""

    async def get(self) -> Message: ...


Notice = Callable[[Event], None]
TakeEvidence = Callable[[Path, str, str], Awaitable[Shown]]
"""Keep what lies for people to see in a worktree, with a run's id and turn. Twice is once. While nothing runs there."""


class Agent(Protocol):
    """How a prompt becomes changes. Cancelled, it interrupts the agent, ends its processes and re-raises."""

    async def run(self, work: Work, inbox: Inbox, notice: Notice) -> TurnReport: ...
    def by_hand(self, *, folder: Path, home: Path, session: str) -> str:
        """What a person types to go on with the conversation; empty: there is none yet."""
        ...

    async def hand_over(self, home: Path, session: str) -> None:
        """Make the conversation ready for that. What a person did with an earlier copy is lost."""
        ...

    async def take_back(self, home: Path, session: str) -> None:
        """The agent is to go on with the conversation as a person left it, if one did. Twice is once."""
        ...


class Executor(Protocol):
    """Where turns run. Executors know *where*, agents know *how*, the engine knows *why*."""

    async def ensure_started(self, request: TurnRequest) -> None: ...
    async def reports(self) -> Mapping[str, TurnReport]:
        """Every turn it knows, running or ended, by turn id."""
        ...

    async def send(self, turn_id: str, message: Message) -> None:
        """Hand a message to the running session, once per message id. Raises Retryable when the turn has ended."""
        ...

    async def cancel(self, turn_id: str) -> None:
        """End it and wait until its processes are gone. Work and session are kept; the report says `stopped`."""
        ...

    async def release(self, turn_id: str) -> None:
        """Its report has been taken in and may be forgotten."""
        ...


class Book(Protocol):
    """What an executor must still know of its turns after its process has died."""

    def keep(self, turn_id: str, report: TurnReport, *, at: float) -> None: ...
    def kept(self) -> Mapping[str, TurnReport]:
        """By turn id: how it ended, or how far it had come."""
        ...

    def forget(self, turn_id: str) -> None: ...


class Store(Protocol):
    """What we remember between ticks."""

    def active(self) -> Sequence[Run]: ...
    def last_ordinal(self, key: str) -> int: ...
    def find_run(self, key: str) -> Run | None: ...  # the newest of an issue
    def take_over(self, run: Run, *, at: float) -> None:
        """A run as others left it, in place of what is remembered of it. What they spent is spent."""
        ...

    def save(
        self,
        run: Run,
        *,
        at: float,
        notes: Sequence[str] = (),
        spend: Spend | None = None,
        ending: Ending | None = None,
        tidings: Sequence[Tiding] = (),
    ) -> None:
        """The run, what it cost, how its turn ended, what the journal says and what people are told: all or nothing."""
        ...

    def endings(self) -> Sequence[Ending]:
        """Of every project, oldest first, from a while before its last good one on."""
        ...

    def spent(self, *, since: float) -> float: ...
    def spent_by_issue(self) -> Mapping[str, Spent]: ...


class ByHand(Protocol):
    """Of one project's runs."""

    async def __call__(self, branch: str, session: str, *, again: bool) -> str:
        """What a person types to go on with that conversation, made ready unless it was before; empty: none."""
        ...


@dataclass(frozen=True, slots=True)
class Project:
    """One tracker scope, one repository, and how they are to be treated."""

    name: str
    tracker: Tracker
    forge: Forge
    workspaces: Workspaces
    policy: Policy
    by_hand: ByHand
    board: Board | None = None
    """None: the tracker has nothing of the kind."""
    claim: Claim | None = None
    """None: nobody else serves this repository."""
    readiness: Readiness | None = None
    """None: nothing is needed."""
    take_evidence: TakeEvidence | None = None
    leaks_in: Callable[[str], Sequence[str]] = lambda _: ()
    """The names of the host's own secrets that are in a text."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything the engine can reach out to, in one hand."""

    projects: Mapping[str, Project]
    executor: Executor
    store: Store
