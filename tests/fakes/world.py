"""An imaginary GitHub-and-Linear, small enough to hold in your head.

Tests change the world, tick the bot, then look at the world. Nothing here records calls: assertions are about what is
true afterwards, never about who called whom.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from bot.domain.body import closed_by
from bot.domain.comment import Comment, Place, Reaction, Remark
from bot.domain.issue import Issue, Person
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.turn import (
    Change,
    Event,
    EventKind,
    Failure,
    FileChange,
    Message,
    Progress,
    Todo,
    TurnReport,
    TurnRequest,
    TurnState,
)
from bot.errors import BotError, NeedsHuman, Retryable

BASE = hashlib.sha1(b"base").hexdigest()


@dataclass
class Tree:
    """A worktree: which commits its branch has, oldest first, and whether anything in it is not committed."""

    project: str
    commits: list[str] = field(default_factory=lambda: [BASE])
    files: dict[str, FileChange] = field(default_factory=dict)
    dirty: bool = False

    @property
    def head(self) -> str:
        return self.commits[-1]


@dataclass
class World:
    now: float = 1_000_000.0
    issues: dict[str, Issue] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)
    """Which project an issue, or a branch, belongs to."""
    people_said: dict[str, list[Comment]] = field(default_factory=dict)
    """By issue key or branch."""
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    """Our comments: by issue key or branch, and slug."""
    reactions: dict[str, set[Reaction]] = field(default_factory=dict)
    pulls: dict[str, PullRequest] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    """The base of each pull request, by branch."""
    branches: dict[str, list[str]] = field(default_factory=dict)
    """Those that were pushed, with their commits."""
    worktrees: dict[str, Tree] = field(default_factory=dict)
    salvaged: dict[str, str] = field(default_factory=dict)
    turns: dict[str, TurnReport] = field(default_factory=dict)
    requests: dict[str, TurnRequest] = field(default_factory=dict)
    """Every turn ever ordered, by its id."""
    told: list[tuple[str, Message]] = field(default_factory=list)
    """What running turns were sent, in order."""
    session_costs: dict[str, float] = field(default_factory=dict)

    down: bool = False
    """The network is gone: tracker, forge, fetch and push fail."""
    deaf: bool = False
    """Messages are accepted by the agent but not read."""
    fails: dict[str, BotError] = field(default_factory=dict)
    """By the name of a port's verb: it raises this and does nothing."""
    drops: set[str] = field(default_factory=set)
    """Names of verbs that work, once, while their answer is lost."""
    version: int = 0
    """Grows with everything people do to issues."""

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds

    # What people do on issues.

    def open_issue(
        self,
        key: str,
        *labels: str,
        title: str = "Fix it",
        body: str = "Please.",
        by: str = "ana",
        project: str = "shop",
        priority: int = 0,
    ) -> None:
        asked_by = Person(by, trusted=True)
        self.issues[key] = Issue(
            key, title, body, frozenset(labels), open=True, asked_by=asked_by, created_at=self.now, priority=priority
        )
        self.projects[key] = project
        self._touch()

    def label(self, key: str, *labels: str, by: str = "ana") -> None:
        issue = self.issues[key]
        self._edit(key, labels=issue.labels | set(labels), asked_by=Person(by, trusted=True))

    def unlabel(self, key: str, *labels: str) -> None:
        self._edit(key, labels=self.issues[key].labels - set(labels))

    def edit_issue(self, key: str, *, title: str | None = None, body: str | None = None) -> None:
        issue = self.issues[key]
        self._edit(key, title=issue.title if title is None else title, body=issue.body if body is None else body)

    def close_issue(self, key: str) -> None:
        self._edit(key, open=False)

    def reopen_issue(self, key: str) -> None:
        self._edit(key, open=True)

    def delete_issue(self, key: str) -> None:
        del self.issues[key]
        self._touch()

    def comment(self, key: str, text: str, *, by: str = "ana", trusted: bool = True) -> str:
        return self._say(key, Place.ISSUE, text, Person(by, trusted=trusted))

    # What people do on pull requests, named by their branch or by the issue's key.

    def comment_on_pull(
        self, key_or_branch: str, text: str, *, by: str = "ana", trusted: bool = True, remarks: Iterable[Remark] = ()
    ) -> str:
        branch = self.branch_of(key_or_branch)
        return self._say(branch, Place.PULL_REQUEST, text, Person(by, trusted=trusted), tuple(remarks))

    def merge(self, key_or_branch: str) -> None:
        branch = self.branch_of(key_or_branch)
        pull = self.pulls[branch] = replace(self.pulls[branch], state=PullRequestState.MERGED)
        for named in closed_by(pull.body):
            for key in [key for key in self.issues if key == named or (named.startswith("#") and key.endswith(named))]:
                self.close_issue(key)

    def close_pull(self, key_or_branch: str) -> None:
        self._set_pull(key_or_branch, PullRequestState.CLOSED)

    def reopen_pull(self, key_or_branch: str) -> None:
        self._set_pull(key_or_branch, PullRequestState.OPEN)

    def write_in_body(self, key_or_branch: str, text: str) -> None:
        branch = self.branch_of(key_or_branch)
        pull = self.pulls[branch]
        self.pulls[branch] = replace(pull, body=f"{pull.body}\n\n{text}")

    def push(self, key_or_branch: str) -> str:
        """Somebody adds a commit of their own to our branch."""
        branch = self.branch_of(key_or_branch)
        commit = _commit_id(branch, "theirs", len(self.branches[branch]))
        self.branches[branch].append(commit)
        return commit

    # What the agent does. A turn is named by its id or its issue's key; unnamed: the oldest one running.

    def write_file(self, turn: str | None = None, path: str = "app.py") -> None:
        """Something in the worktree is not committed yet."""
        tree = self.worktrees[self.requests[self.running_turn(turn)].branch]
        tree.files[path] = FileChange(path, 1, 0)
        tree.dirty = True

    def say_progress(
        self, turn: str | None = None, *, doing: str = "", said: str = "", todos: tuple[Todo, ...] = ()
    ) -> None:
        if said:
            self._happens(turn, Event(EventKind.TEXT, self.now, text=said))
        if todos:
            self._happens(turn, Event(EventKind.TODOS, self.now, todos=todos))
        if doing:
            self._happens(turn, Event(EventKind.TOOL, self.now, text=doing, tool="Bash", id="t1"))
            self._happens(turn, Event(EventKind.TOOL_RESULT, self.now, id="t1"))

    def start_tool(self, turn: str | None = None, *, doing: str = "runs the tests") -> None:
        """A tool that stays running."""
        self._happens(turn, Event(EventKind.TOOL, self.now, text=doing, tool="Bash", id="long"))

    def finish_turn(
        self,
        turn: str | None = None,
        *,
        words: str = "Done.",
        files: Iterable[str] = ("app.py",),
        question: str = "",
        cost: float = 0.1,
        tokens: int = 100,
        fresh: bool = False,
    ) -> None:
        """The turn succeeds. Every file named was changed; none: the agent changed nothing."""
        turn_id = self.running_turn(turn)
        for path in files:
            self.write_file(turn_id, path)
        report = self._ended(turn_id, TurnState.SUCCEEDED, cost, tokens)
        change = self.commit(self.requests[turn_id].branch)
        self.turns[turn_id] = replace(report, words=words, question=question, fresh=fresh, change=change)

    def fail_turn(
        self,
        failure: Failure = Failure.AGENT,
        detail: str = "It fell over.",
        *,
        turn: str | None = None,
        cost: float = 0.0,
    ) -> None:
        turn_id = self.running_turn(turn)
        report = self._ended(turn_id, TurnState.FAILED, cost, 0)
        self.turns[turn_id] = replace(report, failure=failure, detail=detail)

    def forget_turns(self) -> None:
        """The process died, and every turn with it. What they wrote stays."""
        self.turns.clear()

    # What is true now.

    @property
    def prompts(self) -> list[str]:
        """What agents were told to begin with, turn by turn."""
        return [request.prompt for request in self.requests.values()]

    def running(self) -> list[str]:
        return [turn_id for turn_id, report in self.turns.items() if report.state is TurnState.RUNNING]

    def running_turn(self, turn: str | None = None) -> str:
        fitting = [
            turn_id
            for turn_id in self.running()
            if turn in {None, turn_id} or self.requests[turn_id].run_id.startswith(f"{turn}/")
        ]
        assert fitting, f"no turn is running for {turn or 'anything'}; running: {self.running()}"
        return fitting[0]

    def labels(self, key: str) -> frozenset[str]:
        return self.issues[key].labels

    def branch_of(self, key_or_branch: str) -> str:
        """The newest branch worked on for an issue; a branch stays a branch."""
        if key_or_branch in self.pulls or key_or_branch in self.branches:
            return key_or_branch
        ours = [turn.branch for turn in self.requests.values() if turn.run_id.startswith(f"{key_or_branch}/")]
        assert ours, f"nothing was ever worked on for {key_or_branch}"
        return ours[-1]

    def pull(self, key_or_branch: str) -> PullRequest:
        return self.pulls[self.branch_of(key_or_branch)]

    def comments_of(self, key_or_branch: str) -> list[str]:
        """What we say there now, in the order it was first said."""
        return [text for (place, _), text in self.said.items() if place == key_or_branch]

    def heard(self, key: str) -> list[str]:
        """Everything the agent was told about an issue: each turn's prompt, then what it was sent while working."""
        return [
            text
            for turn_id, request in self.requests.items()
            if request.run_id.startswith(f"{key}/")
            for text in (request.prompt, *(message.text for to, message in self.told if to == turn_id))
        ]

    # How it works inside.

    def commit(self, branch: str) -> Change:
        tree = self.worktrees[branch]
        before = tree.head
        if tree.dirty:
            tree.commits.append(_commit_id(branch, *tree.files, len(tree.commits)))
            tree.dirty = False
        return Change(tree.commits[0], tree.head, before, tuple(tree.files.values()))

    def ensure_tree(self, branch: str, project: str) -> Tree:
        """As it was left, or as it was pushed. A clean one follows what people added."""
        pushed = self.branches.get(branch, [BASE])
        tree = self.worktrees.setdefault(branch, Tree(project, list(pushed)))
        if not tree.dirty and tree.commits == pushed[: len(tree.commits)]:
            tree.commits = list(pushed)
        return tree

    def begin_turn(self, request: TurnRequest) -> None:
        self.ensure_tree(request.branch, request.project)
        self.requests[request.turn_id] = request
        session = request.session or f"session-of-{request.run_id}"
        heard = frozenset(request.comments)
        progress = Progress(session=session, last_at=self.now, heard=heard)
        self.turns[request.turn_id] = TurnReport(TurnState.RUNNING, progress, session=session, heard=heard)

    def stop_turn(self, turn_id: str) -> None:
        self.turns[turn_id] = self._ended(turn_id, TurnState.STOPPED, 0.0, 0)

    def tell(self, turn_id: str, message: Message) -> None:
        if (turn_id, message) in self.told:
            return
        self.told.append((turn_id, message))
        if not self.deaf:
            self._happens(turn_id, Event(EventKind.HEARD, self.now, text=message.id))

    def reach(self, verb: str = "", *, network: bool = True) -> None:
        if network and self.down:
            raise Retryable("The world does not answer.")
        if verb in self.fails:
            raise self.fails[verb]

    def answer(self, verb: str) -> None:
        if verb in self.drops:
            self.drops.remove(verb)
            raise Retryable("The answer was lost.")

    def seen(self, place: str) -> tuple[Comment, ...]:
        return tuple(
            replace(comment, reactions=frozenset(self.reactions.get(comment.id, ())))
            for comment in self.people_said.get(place, ())
        )

    def issue(self, key: str) -> Issue:
        if key not in self.issues:
            raise NeedsHuman(f"There is no issue {key}.")
        return self.issues[key]

    def _touch(self) -> None:
        self.version += 1

    def _edit(self, key: str, **fields: object) -> None:
        self.issues[key] = replace(self.issues[key], **fields)  # type: ignore[arg-type]
        self._touch()

    def _set_pull(self, key_or_branch: str, state: PullRequestState) -> None:
        branch = self.branch_of(key_or_branch)
        self.pulls[branch] = replace(self.pulls[branch], state=state)

    def _say(self, where: str, place: Place, text: str, author: Person, remarks: tuple[Remark, ...] = ()) -> str:
        number = sum(map(len, self.people_said.values())) + 1
        comment = Comment(f"c{number}", place, author, text, self.now, remarks)
        self.people_said.setdefault(where, []).append(comment)
        self._touch()
        return comment.id

    def _happens(self, turn: str | None, event: Event) -> None:
        turn_id = self.running_turn(turn)
        report = self.turns[turn_id]
        self.turns[turn_id] = replace(report, progress=report.progress.after(event))

    def _ended(self, turn_id: str, state: TurnState, cost: float, tokens: int) -> TurnReport:
        report = self.turns[turn_id]
        session = report.progress.session
        total = self.session_costs[session] = self.session_costs.get(session, 0.0) + cost
        heard = report.heard | report.progress.heard
        return replace(report, state=state, session_cost_usd=total, tokens=tokens, agent_turns=1, heard=heard)


def _commit_id(*words: object) -> str:
    return hashlib.sha1(repr(words).encode()).hexdigest()
