"""Turn: a prompt goes to the agent, events and a report come back. Plain data, so that it can cross machines."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Self

from bot.domain.change import Change, Handover
from bot.domain.evidence import EvidenceFile
from bot.domain.service import ServiceMounts
from bot.domain.setup_plan import SetupObstacle, SetupResult
from bot.domain.verification import Verification


class TurnState(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    """We ended it ourselves; its work and its session are kept."""
    LOST = "lost"
    """Its process died, or its machine: the report says how far it is known to have come."""


class Failure(StrEnum):
    """Why a turn failed, as far as the next step depends on it."""

    NONE = ""
    AGENT = "agent"
    """It crashed, hung up or gave an error of its own."""
    SETUP = "setup"
    """The agent could not even be started here: missing program, wrong version, no workspace."""
    MODEL = "model"
    """The model did not answer: overloaded, too busy, cut off. Trying again may help."""
    LIMIT = "limit"
    """The usage limit of the model is reached until a certain time, for all runs."""
    KEY = "key"
    """The model's service rejects the key. A retry does not help, for any run."""
    BUDGET = "budget"
    DAY_BUDGET = "day"
    """The budget of the day is spent, for all runs."""
    BASE = "base"
    """The branch to start from does not exist. A retry fails again until somebody changes that."""
    DISK = "disk"
    UNREADY = "unready"
    """Setup of the worktree failed. A retry fails again until somebody changes its cause."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to a running agent. The id makes delivery idempotent."""

    id: str
    text: str
    comments: tuple[str, ...] = ()
    """Ids of the comments and inline comments that it contains; empty: the one with its own id."""


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """Order for one turn. The executor runs a turn id once, however often it is asked."""

    turn_id: str
    run_id: str
    project: str
    branch: str
    base: str
    """The branch to start from; empty: the repository's default."""
    prompt: str
    """Prompt for an agent with a session."""
    briefing: str
    """Prompt for an agent without a session; also used after a session was lost."""
    commit_message: str
    at: float
    """Becomes the commit's date, so that a replay gives the same commit id."""
    session: str = ""
    comments: tuple[str, ...] = ()
    """Ids of the comments and inline comments that the prompt contains."""
    model: str = ""
    budget_usd: float = 0.0
    """0: no limit."""
    plan: bool = False
    """The agent only proposes: its changes are not kept."""
    merge: str = ""
    """The branch to merge first; the worktree then shows the conflicts, and the commit has both parents."""
    handover: Handover | None = None
    """A person gave the worktree back: the agent is shown their changes."""
    allowed: tuple[str, ...] = ()
    """Ids of the objections that a person has approved."""
    forbids: tuple[str, ...] = ()
    """Paths that the issue forbids: a change there is an objection."""
    publish_only: bool = False
    """No agent: commits the changes of an earlier turn, which a person has approved."""
    most_tokens: int = 0
    """Limit that the host enforces; 0: no limit."""
    verified_commit: str = ""
    """The commit that verification has been run on already."""


class EventKind(StrEnum):
    SESSION = "session"
    PROMPT = "given"
    """Text sent to the agent; the first one of a turn is its prompt."""
    TEXT = "text"
    TOOL = "tool"
    TOOL_RESULT = "tool_result"
    TODOS = "todos"
    DELIVERED = "heard"
    """A comment reached the agent; `text` is its id, or that of the inline comment."""
    NOTICE = "notice"
    RESULT = "result"
    VERIFYING = "verifying"
    """Host event: the agent has ended and its commit is being verified."""
    STEP = "step"
    """Host event: what the host does for the turn, and how far it is. Empty: nothing any more. No part of the
    conversation."""
    WAITING = "waiting"
    """Host event: as `STEP`, but it does not move on."""
    USAGE = "usage"
    """Host event: tokens and money that the host has counted. Not in transcripts."""


_NO_PROGRESS = {EventKind.NOTICE, EventKind.USAGE, EventKind.WAITING}


@dataclass(frozen=True, slots=True)
class Todo:
    text: str
    done: bool
    active: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the agent's conversation. Untrusted: it is shown and counted, never obeyed."""

    kind: EventKind
    at: float
    text: str = ""
    """Text of the agent; for a tool a summary of the call; for a result its output (cut); with usage, a model without a
    price."""
    tool: str = ""
    id: str = ""
    """Pairs a tool with its result."""
    todos: tuple[Todo, ...] = ()
    tokens: int = 0
    session_cost_usd: float = 0.0
    """With a result: what the session has cost so far, as the agent says."""
    usd: float = 0.0
    """With usage: money that the host has counted."""
    reserved_usd: float = 0.0
    """With usage: the most that requests in flight may still cost."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a running turn: its events, folded."""

    action: str = ""
    message: str = ""
    todos: tuple[Todo, ...] = ()
    session: str = ""
    events: int = 0
    tokens: int = 0
    usd: float | None = None
    """Money that the host has counted; None if it does not count."""
    reserved_usd: float = 0.0
    """The most that requests in flight may still cost: spent as well, if their answers are never seen."""
    unpriced: str = ""
    """The model whose price is not known, so that the money is a guess."""
    session_cost_usd: float = 0.0
    last_event_at: float = 0.0
    tools_running: frozenset[str] = field(default=frozenset())
    delivered: frozenset[str] = field(default=frozenset())
    verifying_since: float = 0.0
    """Time when verification started; 0: it has not started."""

    def after(self, event: Event) -> Self:  # noqa: C901 - one case per kind of event
        # a rate limit's heartbeat is no progress: it must not keep a stalled turn alive
        last_at = self.last_event_at if event.kind in _NO_PROGRESS else event.at
        # where the host counts, nothing else does
        tokens = self.tokens + (event.tokens if self.usd is None or event.kind is EventKind.USAGE else 0)
        seen = replace(self, events=self.events + 1, tokens=tokens, last_event_at=last_at)
        match event.kind:
            case EventKind.SESSION:
                return replace(seen, session=event.text)
            case EventKind.TEXT:
                return replace(seen, message=event.text)
            case EventKind.TOOL | EventKind.STEP | EventKind.WAITING:
                called = {event.id} if event.kind is EventKind.TOOL else frozenset[str]()
                return replace(seen, action=event.text, tools_running=seen.tools_running | called)
            case EventKind.TOOL_RESULT:
                return replace(seen, tools_running=seen.tools_running - {event.id})
            case EventKind.TODOS:
                return replace(seen, todos=event.todos)
            case EventKind.DELIVERED:
                return replace(seen, delivered=seen.delivered | {event.text})
            case EventKind.NOTICE | EventKind.PROMPT:
                return seen
            case EventKind.RESULT:
                return replace(seen, session_cost_usd=max(event.session_cost_usd, seen.session_cost_usd))
            case EventKind.VERIFYING:
                return replace(seen, verifying_since=event.at)
            case EventKind.USAGE:
                usd, unpriced = (seen.usd or 0.0) + event.usd, event.text or seen.unpriced
                return replace(seen, usd=usd, reserved_usd=event.reserved_usd, unpriced=unpriced)


@dataclass(frozen=True, slots=True)
class WorktreeMounts:
    """Host folders mounted into the sandbox, besides tools."""

    folder: Path
    """The worktree: theirs to write, but for its `.git`."""
    shadow: Path
    """The git directory that the worktree's `.git` points to. The host made it; they see a copy in its place."""
    agent_git: Path
    """The git directory of setup and of the agent's commands: theirs to write. No git of the host reads it."""
    objects: Path
    """The mirror's object store: theirs to read."""
    toolchains: tuple[Path, ...] = field(default=(), kw_only=True)
    """Folders with the versions of tools that the repository asks for: theirs to read, found before the machine's."""
    layer: Path | None = field(default=None, kw_only=True)
    """Link to the folder of dependencies that shows beneath the worktree, read-only; it may lead nowhere."""
    services: ServiceMounts | None = field(default=None, kw_only=True)
    """Services that run beside each command; None: there are none."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that the agent may write to."""

    mounts: WorktreeMounts
    branch: str
    base: str
    """The commit id the branch started from."""
    head: str
    """The commit id at its tip: our last commit, or the base."""
    conflicts: tuple[str, ...] = ()
    """Conflicts of the merge in progress, in git's words; the next capture completes it."""
    instructions: str = ""
    """The repository's instructions for agents, as of the base: people have merged them."""

    @property
    def path(self) -> Path:
        return self.mounts.folder


@dataclass(frozen=True, slots=True)
class AgentTask:
    """Input of an agent: folder, prompt, and the session to resume."""

    turn_id: str
    mounts: WorktreeMounts
    home: Path
    """Its own configuration and history: one per run, kept between turns."""
    prompt: str
    briefing: str
    session: str = ""
    comments: tuple[str, ...] = ()
    model: str = ""
    budget_usd: float = 0.0
    most_tokens: int = 0
    plan: bool = False
    instructions: str = ""
    """Said ahead of the briefing; and of a prompt, where the conversation was told others."""
    setup: SetupResult = field(default_factory=SetupResult)
    """Result of setup, such as variables and caches."""

    @property
    def folder(self) -> Path:
        return self.mounts.folder


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """The agent's answer to one comment. A claim, except for the commit."""

    comment: str
    """The id of the comment or remark."""
    declined: bool
    text: str


@dataclass(frozen=True, slots=True)
class TurnReport:
    """State of a turn, or its end. Summary, question and the session's cost are the agent's claims."""

    state: TurnState
    progress: Progress = field(default_factory=Progress)
    session: str = ""
    is_new_session: bool = False
    """The session to resume was gone, so a new one was briefed with the whole thread."""
    failure: Failure = Failure.NONE
    detail: str = ""
    summary: str = ""
    """The agent's closing words."""
    question: str = ""
    """Question that the agent needs an answer to."""
    retry_at: float = 0.0
    """End of a usage limit; 0 if unknown."""
    session_cost_usd: float = 0.0
    """Cost of the session so far, as the agent says."""
    usd: float | None = None
    """Cost of this turn, as the host counted it; None if it does not count: the agent's claim has to do."""
    unseen_usd: float = 0.0
    """Part of `usd`: the most that requests may have cost whose answers nobody has seen."""
    tokens: int = 0
    agent_turns: int = 0
    is_model_unreachable: bool = False
    """The host could not reach the model's service when the turn failed."""
    delivered: frozenset[str] = field(default=frozenset())
    """Ids of the comments that really reached the agent."""
    answers: tuple[TurnAnswer, ...] = ()
    change: Change | None = None
    renamed_base: tuple[str, ...] = ()
    """Former and present name of the base branch, if it was found to be renamed."""
    planned: bool = False
    """It was a planning turn: its words are the plan."""
    salvage_ref: str = ""
    """Ref with the changes that a planning turn made nevertheless."""
    refusals: tuple[str, ...] = ()
    """Connections the proxy refused, as text; counted by the host."""
    obstacle: SetupObstacle | None = None
    """The worktree was not ready, so no agent has begun."""
    verification: Verification | None = None
    """Unset if nothing was run."""
    evidence: tuple[EvidenceFile, ...] = ()
    ended_at: float = 0.0
    """Time by the host's clock; 0 if it is running or unknown."""

    @property
    def is_finished_work(self) -> bool:
        """Returns True if the agent has ended by itself, and its work is committed; not if it has a question."""
        change = self.change
        is_done = change is not None and change.head != change.base and not change.objections
        return is_done and not (self.failure or self.question or self.planned)


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """End of a turn that an agent took part in. The circuit breaker counts these."""

    project: str
    key: str
    ordinal: int
    turn: int
    begun_at: float
    at: float
    failure: Failure = Failure.NONE
    """Empty after success."""
    detail: str = ""
    """On one line, and short."""

    @property
    def run_id(self) -> str:
        return f"{self.key}/{self.ordinal}"
