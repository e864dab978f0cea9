"""One turn: a prompt goes to the agent, events and a report come back. Plain data, so that it can cross machines."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Self

from bot.domain.change import Change
from bot.domain.evidence import Piece
from bot.domain.given import Given
from bot.domain.setup_plan import Obstacle, Ready
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
    """Why a turn failed, as far as it matters for what happens next."""

    NONE = ""
    AGENT = "agent"
    """It crashed, hung up or gave an error of its own."""
    SETUP = "setup"
    """The agent could not even be started here: missing program, wrong version, no workspace."""
    MODEL = "model"
    """The model did not answer: overloaded, too busy, cut off. Trying again may help."""
    LIMIT = "limit"
    """What we may use of the model is used up until a certain time, for all runs."""
    KEY = "key"
    """The model refuses our key. Trying again will not help, for any run."""
    BUDGET = "budget"
    DISK = "disk"
    UNREADY = "unready"
    """The worktree could not be made ready. Trying again will not help before somebody has changed something."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something for the agent to hear while it works. The id makes delivery idempotent."""

    id: str
    text: str
    comments: tuple[str, ...] = ()
    """Ids of the comments and remarks it contains; empty: the one it is named after."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What the engine orders. The executor runs a turn id once, however often it is asked."""

    turn_id: str
    run_id: str
    project: str
    branch: str
    base: str
    """The branch to start from; empty: the repository's default."""
    prompt: str
    """For an agent that remembers the conversation."""
    briefing: str
    """For an agent that knows nothing yet: also what a lost session is told."""
    commit_message: str
    at: float
    """Becomes the commit's date, so that a replay gives the same commit id."""
    session: str = ""
    comments: tuple[str, ...] = ()
    """Ids of the comments and remarks the prompt contains."""
    model: str = ""
    budget_usd: float = 0.0
    """0: no limit."""
    plan: bool = False
    """Nothing it changes is kept: it is to propose."""
    merge: str = ""
    """The branch to take in first; the worktree then shows the conflicts, and the commit has both parents."""
    given: Given | None = None
    """A person worked in the worktree since: the agent is shown what they changed."""
    allowed: tuple[str, ...] = ()
    """Ids of the objections that a person has overruled."""
    forbids: tuple[str, ...] = ()
    """Paths that the issue asks to leave alone: a change there is objected to."""
    offer: bool = False
    """No agent: what an earlier turn left in the worktree is committed, now that a person has allowed it."""
    most_tokens: int = 0
    """A hard stop, kept by the host; 0: no limit."""
    verified: str = ""
    """The commit that verification has been run on already."""


class EventKind(StrEnum):
    SESSION = "session"
    GIVEN = "given"
    """What we told the agent, word for word: a turn's first is its prompt."""
    TEXT = "text"
    TOOL = "tool"
    TOOL_RESULT = "tool_result"
    TODOS = "todos"
    HEARD = "heard"
    """Something people said reached the agent; `text` is the comment's or remark's id."""
    NOTICE = "notice"
    RESULT = "result"
    VERIFYING = "verifying"
    """The host's own: the agent is through, and its work is tried."""


@dataclass(frozen=True, slots=True)
class Todo:
    text: str
    done: bool
    active: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """One thing the agent did. Untrusted: it is shown and counted, never obeyed."""

    kind: EventKind
    at: float
    text: str = ""
    """What was said; for a tool what it is about to do, in a few words; for a result what it printed (cut)."""
    tool: str = ""
    id: str = ""
    """Pairs a tool with its result."""
    todos: tuple[Todo, ...] = ()
    tokens: int = 0
    session_cost_usd: float = 0.0
    """With a result: what the session has cost so far."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a running turn stands: its events, folded."""

    doing: str = ""
    said: str = ""
    todos: tuple[Todo, ...] = ()
    session: str = ""
    events: int = 0
    tokens: int = 0
    session_cost_usd: float = 0.0
    last_at: float = 0.0
    tools_running: frozenset[str] = field(default=frozenset())
    heard: frozenset[str] = field(default=frozenset())
    verifying_since: float = 0.0
    """0: the agent is not through."""

    def after(self, event: Event) -> Self:  # noqa: C901 - one case per kind of event
        # a rate limit's heartbeat is no progress: it must not keep a stalled turn alive
        last_at = self.last_at if event.kind is EventKind.NOTICE else event.at
        seen = replace(self, events=self.events + 1, tokens=self.tokens + event.tokens, last_at=last_at)
        match event.kind:
            case EventKind.SESSION:
                return replace(seen, session=event.text)
            case EventKind.TEXT:
                return replace(seen, said=event.text)
            case EventKind.TOOL:
                return replace(seen, doing=event.text, tools_running=seen.tools_running | {event.id})
            case EventKind.TOOL_RESULT:
                return replace(seen, tools_running=seen.tools_running - {event.id})
            case EventKind.TODOS:
                return replace(seen, todos=event.todos)
            case EventKind.HEARD:
                return replace(seen, heard=seen.heard | {event.text})
            case EventKind.NOTICE | EventKind.GIVEN:
                return seen
            case EventKind.RESULT:
                return replace(seen, session_cost_usd=max(event.session_cost_usd, seen.session_cost_usd))
            case EventKind.VERIFYING:
                return replace(seen, verifying_since=event.at)


@dataclass(frozen=True, slots=True)
class Ground:
    """All of the host's folders that a run's programs get to see, tools aside."""

    folder: Path
    """The worktree: theirs to write, but for its `.git`."""
    shadow: Path
    """The throw-away git directory that the worktree's `.git` points to: theirs to write."""
    objects: Path
    """The mirror's object store: theirs to read."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where the agent may write."""

    ground: Ground
    branch: str
    base: str
    """The commit id the branch started from."""
    head: str
    """The commit id at its tip: our last commit, or the base."""
    conflicts: tuple[str, ...] = ()
    """Of the merge that its files show, in git's words; the next capture ends it."""
    instructions: str = ""
    """What the repository tells agents, as of the base: people have merged it."""

    @property
    def path(self) -> Path:
        return self.ground.folder


@dataclass(frozen=True, slots=True)
class Work:
    """What an agent gets: a folder, words, and a conversation to go on with."""

    turn_id: str
    ground: Ground
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
    ready: Ready = field(default_factory=Ready)
    """What it finds besides the files."""

    @property
    def folder(self) -> Path:
        return self.ground.folder


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent says has become of one thing it was told. A claim, except for the commit."""

    comment: str
    """The id of the comment or remark."""
    declined: bool
    text: str


@dataclass(frozen=True, slots=True)
class TurnReport:
    """How a turn stands, or how it ended. Words, question and costs are the agent's claims; `change` is the host's."""

    state: TurnState
    progress: Progress = field(default_factory=Progress)
    session: str = ""
    fresh: bool = False
    """The session to resume was gone, so a new one was briefed with the whole thread."""
    failure: Failure = Failure.NONE
    detail: str = ""
    words: str = ""
    """The agent's closing words."""
    question: str = ""
    """The agent cannot go on without an answer to this."""
    retry_at: float = 0.0
    """Of a limit: when it is over; 0: nobody said."""
    session_cost_usd: float = 0.0
    tokens: int = 0
    agent_turns: int = 0
    heard: frozenset[str] = field(default=frozenset())
    """Ids of the comments that really reached the agent."""
    answers: tuple[Answer, ...] = ()
    change: Change | None = None
    planned: bool = False
    """It was a planning turn: its words are the plan."""
    salvaged: str = ""
    """Where the host put what a planning turn changed nevertheless."""
    refusals: tuple[str, ...] = ()
    """What the gate did not let through, in words; counted by the host."""
    obstacle: Obstacle | None = None
    """The worktree was not ready, so no agent has begun."""
    verification: Verification | None = None
    """None: nothing was run."""
    evidence: tuple[Piece, ...] = ()
    ended_at: float = 0.0
    """By the host's clock; 0: it goes on, or nobody knows."""
