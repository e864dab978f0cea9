"""An imaginary GitHub and Linear, small enough to remember.

Tests change the world, tick the bot, then check the world. No calls are recorded: assertions are about the state
afterwards, never about who called whom.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from bot.domain.change import Change, FileChange, HandWork, Objection
from bot.domain.comment import Comment, CommentPlace, Remark
from bot.domain.issue import Edit, Issue, IssueStage, IssueState, Person
from bot.domain.pull_request import Checks, CheckState, FailedCheck, PullRequest, PullRequestState
from bot.domain.reaction import Reaction
from bot.domain.turn import (
    Event,
    EventKind,
    Failure,
    Message,
    Progress,
    Todo,
    TurnAnswer,
    TurnOrder,
    TurnReport,
    TurnState,
)
from bot.errors import BotError, NeedsHuman, Retryable
from bot.text.pull_request_section import closed_issues

BASE = hashlib.sha1(b"base").hexdigest()


@dataclass
class Tree:
    """A worktree: the commits of its branch, oldest first, and whether it has uncommitted changes."""

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
    unplaced: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Issues of which nobody knows that, and the labels that would tell."""
    people_said: dict[str, list[Comment]] = field(default_factory=dict)
    """By issue key or branch."""
    ever_said: int = 0
    """Also what was taken back since."""
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    """Our comments: by issue key or branch, and slug."""
    notes: dict[tuple[str, str], str] = field(default_factory=dict)
    """What goes with them unseen."""
    threads: dict[tuple[str, str], str] = field(default_factory=dict)
    """Which inline remark our comment on a pull request answers: by branch and slug."""
    reactions: dict[str, set[Reaction]] = field(default_factory=dict)
    pulls: dict[str, PullRequest] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    """The base of each pull request, by branch."""
    branches: dict[str, list[str]] = field(default_factory=dict)
    """Those that were pushed, with their commits."""
    published: dict[str, str] = field(default_factory=dict)
    """What we last pushed, by branch."""
    ci_started: list[str] = field(default_factory=list)
    """Branches whose CI a person has approved."""
    checks: dict[str, Checks] = field(default_factory=dict)
    """Of the newest commit of a branch, when they last said anything."""
    conflicts: set[str] = field(default_factory=set)
    """Branches that git cannot merge with their base."""
    behind: set[str] = field(default_factory=set)
    """Branches whose base has moved on."""
    clashes: set[str] = field(default_factory=set)
    """Branches where git cannot merge what others pushed with what we have."""
    protected: dict[str, str] = field(default_factory=dict)
    """Paths that the host does not publish by itself, and what they hold now."""
    worktrees: dict[str, Tree] = field(default_factory=dict)
    salvaged: dict[str, str] = field(default_factory=dict)
    given: dict[tuple[str, str, float], str] = field(default_factory=dict)
    """What people did by hand: by branch, message and time."""
    handed_over: list[str] = field(default_factory=list)
    """Branches whose conversation was made ready for a person."""
    turns: dict[str, TurnReport] = field(default_factory=dict)
    requests: dict[str, TurnOrder] = field(default_factory=dict)
    """Every turn ever ordered, by its id."""
    told: list[tuple[str, Message]] = field(default_factory=list)
    """What running turns were sent, in order."""
    session_costs: dict[str, float] = field(default_factory=dict)

    down: bool = False
    """The network is gone: tracker, forge, fetch and push fail."""
    lags: dict[str, str] = field(default_factory=dict)
    """The commit that the forge shows at the tip of a branch, though others are there by now."""
    deaf: bool = False
    """Messages are accepted by the agent but not read."""
    fails: dict[str, BotError] = field(default_factory=dict)
    """By the name of a port's verb: it raises this and does nothing."""
    renamed_branches: dict[str, str] = field(default_factory=dict)
    """Present names by former ones, as the forge knows them."""
    drops: set[str] = field(default_factory=set)
    """Names of verbs that work, once, while their answer is lost."""
    version: int = 0
    """Grows with everything people do to issues."""
    without_right: set[str] = field(default_factory=set)
    """People who may not steer any more."""
    judged_again: list[str] = field(default_factory=list)
    """Comments, and `request`, that somebody asked about again at the moment of use."""
    looked_for: set[str] = field(default_factory=set)
    """Issues that the tracker was ever asked about by their keys."""

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds

    # Actions of people on issues

    def open_issue(
        self,
        key: str,
        *labels: str,
        title: str = "Fix it",
        body: str = "Please.",
        by: str = "ana",
        project: str = "shop",
        priority: int = 0,
        trusted: bool = True,
    ) -> None:
        self.issues[key] = Issue(key, title, body, frozenset(), open=True, created_at=self.now, priority=priority)
        self.projects[key] = project
        self.label(key, *labels, by=by, trusted=trusted)

    def label(self, key: str, *labels: str, by: str = "ana", trusted: bool = True) -> None:
        """Adds a label. Adding the label is a request; people without permission can make one too."""
        issue = self.issues[key]
        if "ai" in labels and "ai" not in issue.labels:
            self._edit(key, requester=Person(by, trusted=trusted), request=f"request-{self.version}", edit=None)
        self._edit(key, labels=issue.labels | set(labels))

    def on_board(self, key: str, stage: IssueStage = IssueStage.ORIGINAL) -> None:
        """Marks the issue's tracker as one with states and links."""
        self._edit(key, state=IssueState(stage, frozenset(IssueStage)), links=frozenset())

    def move(self, key: str, stage: IssueStage) -> None:
        """Moves an issue as a person, which prevents moves by us."""
        self._edit(key, state=IssueState(stage))

    def block(self, key: str, *by: str) -> None:
        self._edit(key, blocked_by=by)

    def stage(self, key: str) -> IssueStage:
        standing = self.issues[key].state
        assert standing
        return standing.stage

    def unlabel(self, key: str, *labels: str) -> None:
        self._edit(key, labels=self.issues[key].labels - set(labels))

    def edit_issue(self, key: str, *, title: str | None = None, body: str | None = None) -> None:
        issue = self.issues[key]
        self._edit(key, title=issue.title if title is None else title, body=issue.body if body is None else body)

    def edit_as_stranger(self, key: str, *, body: str, by: str = "eve", original_known: bool = True) -> None:
        """Edits an issue as a person without permission. The tracker keeps the text at the time of the request."""
        edit = Edit(f"edit-{self.version}", Person(by), self.issues[key].title, body, original_known)
        self._edit(key, edit=edit)

    def close_issue(self, key: str) -> None:
        self._edit(key, open=False)

    def reopen_issue(self, key: str) -> None:
        self._edit(key, open=True)

    def delete_issue(self, key: str) -> None:
        del self.issues[key]
        self._touch()

    def comment(
        self, key: str, text: str, *, by: str = "ana", trusted: bool = True, may_push: bool | None = None,
        thread: str = "",
    ) -> str:  # fmt: skip
        """Comments. People who may steer may push, unless stated otherwise."""
        return self._say(key, CommentPlace.ISSUE, text, _person(by, trusted, may_push), thread=thread)

    def edit_comment_as_stranger(self, comment: str, text: str, *, by: str = "eve") -> None:
        """Rewrites a comment of a person, inline remarks included, as somebody without permission."""
        self._resay(comment, lambda one: replace(
            one, text=text, author=replace(one.author, trusted=False, may_push=False), edited_by=Person(by),
            remarks=tuple(replace(remark, text=text) for remark in one.remarks),
        ))  # fmt: skip

    def lose_right(self, name: str) -> None:
        """Removes the permission of a person. Their comments look trusted until permissions are rechecked."""
        self.without_right.add(name)

    def judge_again(self, place: str, comments: Collection[str], *, request: bool) -> None:
        self.judged_again += [*comments, *(["request"] if request else [])]
        for said in self.people_said.get(place, ()):
            if said.id in comments and said.author.name in self.without_right:
                self._resay(said.id, lambda one: replace(one, author=Person(one.author.name)))
        if request and self.issues[place].requester.name in self.without_right:
            self._edit(place, requester=Person(self.issues[place].requester.name))

    # Actions of people on pull requests, named by their branch or by the issue's key

    def comment_on_pull(
        self, key_or_branch: str, text: str, *, by: str = "ana", trusted: bool = True, remarks: Iterable[Remark] = ()
    ) -> str:
        branch = self.branch_of(key_or_branch)
        return self._say(branch, CommentPlace.PULL_REQUEST, text, _person(by, trusted), tuple(remarks))

    def review(
        self, key_or_branch: str, *remarks: Remark, text: str = "", by: str = "ana", trusted: bool = True
    ) -> str:
        """Adds a review; without remarks and text it is an approval."""
        branch, approves = self.branch_of(key_or_branch), not (text or remarks)
        return self._say(
            branch, CommentPlace.PULL_REQUEST, text, _person(by, trusted), remarks, review=True, approves=approves
        )

    def add_remark(self, comment: str, remark: Remark) -> None:
        """Adds an inline remark to an existing review."""
        self._resay(comment, lambda one: replace(one, remarks=(*one.remarks, remark)))

    def merge(self, key_or_branch: str) -> None:
        branch = self.branch_of(key_or_branch)
        pull = self.pulls[branch] = replace(self.pulls[branch], state=PullRequestState.MERGED)
        for named in closed_issues(pull.body):
            for key in [key for key in self.issues if key == named or (named.startswith("#") and key.endswith(named))]:
                self.close_issue(key)

    def close_pull(self, key_or_branch: str) -> None:
        self._set_pull(key_or_branch, PullRequestState.CLOSED)

    def reopen_pull(self, key_or_branch: str) -> None:
        self._set_pull(key_or_branch, PullRequestState.OPEN)

    def delete_branch(self, key_or_branch: str) -> None:
        """Deletes a branch and closes its pull request."""
        branch = self.branch_of(key_or_branch)
        self.close_pull(branch)
        del self.branches[branch]

    def force_push(self, key_or_branch: str) -> str:
        """Replaces our commits by another one."""
        branch = self.branch_of(key_or_branch)
        commit = _commit_id(branch, "forced", self.now)
        self.branches[branch] = [BASE, commit]
        return commit

    def write_in_body(self, key_or_branch: str, text: str) -> None:
        branch = self.branch_of(key_or_branch)
        pull = self.pulls[branch]
        self.pulls[branch] = replace(pull, body=f"{pull.body}\n\n{text}")

    def move_base(self, key_or_branch: str, *, conflicting: bool = False) -> None:
        """Adds a commit to the base of a pull request."""
        branch = self.branch_of(key_or_branch)
        self.behind.add(branch)
        if conflicting:
            self.conflicts.add(branch)

    def check(self, key_or_branch: str, state: CheckState, *failed: FailedCheck, passed: int = 3) -> None:
        """Sets the state of the checks of the pushed commit."""
        branch = self.branch_of(key_or_branch)
        self.checks[branch] = Checks(state, self.branches[branch][-1], passed=passed, failed=failed)

    def push(self, key_or_branch: str, *, clashing: bool = False) -> str:
        """Adds a commit of another person to our branch; `clashing`: to the lines that the agent edits."""
        branch = self.branch_of(key_or_branch)
        if clashing:
            self.clashes.add(branch)
        commit = _commit_id(branch, "theirs", len(self.branches[branch]))
        self.branches[branch].append(commit)
        return commit

    # Actions of a person in a worktree that they took over

    def work_by_hand(self, key_or_branch: str, path: str = "app.py") -> None:
        assert not self.running(), "an agent is at work"
        tree = self.worktrees[self.branch_of(key_or_branch)]
        tree.files[path] = FileChange(path, 1, 0)
        tree.dirty = True

    # Actions of the agent. A turn is named by its id or its issue's key; unnamed: the oldest one running

    def write_file(self, turn: str | None = None, path: str = "app.py") -> None:
        """Leaves an uncommitted change in the worktree."""
        tree = self.worktrees[self.requests[self.running_turn(turn)].branch]
        tree.files[path] = FileChange(path, 1, 0)
        tree.dirty = True

    def say_progress(
        self, turn: str | None = None, *, doing: str = "", said: str = "", todos: tuple[Todo, ...] = (), tokens: int = 0
    ) -> None:
        if said or tokens:
            self._happens(turn, Event(EventKind.TEXT, self.now, text=said, tokens=tokens))
        if todos:
            self._happens(turn, Event(EventKind.TODOS, self.now, todos=todos))
        if doing:
            self._happens(turn, Event(EventKind.TOOL, self.now, text=doing, tool="Bash", id="t1"))
            self._happens(turn, Event(EventKind.TOOL_RESULT, self.now, id="t1"))

    def use_model(self, model: str, turn: str | None = None) -> None:
        """The agent uses a model whose price is not known."""
        self._happens(turn, Event(EventKind.USAGE, self.now, text=model, tokens=10, usd=0.1))

    def start_tool(self, turn: str | None = None, *, doing: str = "runs the tests") -> None:
        """Starts a tool that keeps running."""
        self._happens(turn, Event(EventKind.TOOL, self.now, text=doing, tool="Bash", id="long"))

    def finish_turn(
        self,
        turn: str | None = None,
        *,
        words: str = "Done.",
        files: Iterable[str] = ("app.py",),
        question: str = "",
        answers: Iterable[TurnAnswer] = (),
        cost: float = 0.1,
        tokens: int = 100,
        fresh: bool = False,
        refusals: Iterable[str] = (),
    ) -> None:
        """The turn succeeds. Every named file was changed; none: the agent changed nothing."""
        turn_id = self.running_turn(turn)
        for path in files:
            self.write_file(turn_id, path)
        report = replace(
            self._ended(turn_id, TurnState.SUCCEEDED, cost, tokens),
            summary=words,
            question=question,
            answers=tuple(answers),
            is_new_session=fresh,
            refusals=tuple(refusals),
        )
        branch = self.requests[turn_id].branch
        if self.requests[turn_id].merge:
            self.conflicts.discard(branch)
        if self.requests[turn_id].plan:
            self.turns[turn_id] = replace(report, planned=True, salvage_ref=self.put_back(branch))
        else:
            self.turns[turn_id] = replace(report, change=self.commit(branch, self.requests[turn_id].allowed))

    def undo(self, key_or_branch: str, path: str) -> None:
        """The agent reverts its change to a file."""
        del self.worktrees[self.branch_of(key_or_branch)].files[path]

    def fail_turn(
        self,
        failure: Failure = Failure.AGENT,
        detail: str = "It fell over.",
        *,
        turn: str | None = None,
        cost: float = 0.0,
        retry_at: float = 0.0,
    ) -> None:
        turn_id = self.running_turn(turn)
        report = self._ended(turn_id, TurnState.FAILED, cost, 0)
        self.turns[turn_id] = replace(report, failure=failure, detail=detail, retry_at=retry_at)

    def forget_turns(self) -> None:
        """The process was killed with its running turns; reports of ended turns were saved. Their files stay."""
        self.turns = {
            turn_id: replace(
                report,
                state=TurnState.LOST,
                tokens=report.progress.tokens,
                session_cost_usd=report.progress.session_cost_usd,
            )
            if report.state is TurnState.RUNNING
            else report
            for turn_id, report in self.turns.items()
        }

    # Present state

    @property
    def prompts(self) -> list[str]:
        """Returns the prompts of all turns in order."""
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
        """Returns the newest branch of an issue; a branch stays a branch."""
        if key_or_branch in self.pulls or key_or_branch in self.branches:
            return key_or_branch
        ours = [turn.branch for turn in self.requests.values() if turn.run_id.startswith(f"{key_or_branch}/")]
        assert ours, f"nothing was ever worked on for {key_or_branch}"
        return ours[-1]

    def pull(self, key_or_branch: str) -> PullRequest:
        return self.pulls[self.branch_of(key_or_branch)]

    def comments_of(self, key_or_branch: str) -> list[str]:
        """Returns our comments there now, in the order of their creation."""
        return [text for (place, _), text in self.said.items() if place == key_or_branch]

    def answers_in(self, thread: str) -> list[str]:
        """Returns our answers in the thread of an inline remark."""
        return [self.said[where] for where, named in self.threads.items() if named == thread]

    def heard(self, key: str) -> list[str]:
        """Returns all text that the agent got about an issue: the prompt of each turn, then messages sent during it."""
        return [
            text
            for turn_id, request in self.requests.items()
            if request.run_id.startswith(f"{key}/")
            for text in (request.prompt, *(message.text for to, message in self.told if to == turn_id))
        ]

    # Internals

    def commit(self, branch: str, allowed: Collection[str] = ()) -> Change:
        tree = self.worktrees[branch]
        before = tree.head
        if objections := self._objections(tree, allowed):
            return Change(tree.commits[0], before, before, (), objections=objections)
        if tree.dirty:
            tree.commits.append(_commit_id(branch, *tree.files, len(tree.commits)))
            tree.dirty = False
        return Change(tree.commits[0], tree.head, before, tuple(tree.files.values()))

    async def by_hand(self, branch: str, session: str, *, again: bool) -> str:
        if not again:
            self.handed_over.append(branch)
        return f"resume {session} in {branch}" if session else ""

    def _objections(self, tree: Tree, allowed: Collection[str]) -> tuple[Objection, ...]:
        dirty = sorted(tree.files) if tree.dirty else []
        found = (
            Objection("protected path", path, "runs in CI", self.protected[path])
            for path in dirty
            if path in self.protected
        )
        return tuple(one for one in found if one.id not in allowed)

    def take_back(self, branch: str, message: str, at: float, allowed: Collection[str] = ()) -> HandWork:
        tree = self.worktrees[branch]
        if tree.dirty:
            change = self.commit(branch, allowed)
            if change.objections:
                return HandWork(blocked=change)
            self.given[branch, message, at] = ", ".join(tree.files)
        return HandWork(self.given.get((branch, message, at), ""))

    def put_back(self, branch: str) -> str:
        tree = self.worktrees[branch]
        if not tree.dirty:
            return ""
        tree.dirty = False
        return self.salvaged.setdefault(branch, f"refs/treehand/salvage/{branch}")

    def ensure_tree(self, branch: str, project: str) -> Tree:
        """Returns the worktree as it was left or pushed. A clean, published one follows commits of people."""
        pushed = self.branches.get(branch, [BASE])
        tree = self.worktrees.setdefault(branch, Tree(project, list(pushed)))
        is_published = tree.head == self.published.get(branch) or tree.commits == pushed[: len(tree.commits)]
        if not tree.dirty and is_published:
            tree.commits = list(pushed)
        return tree

    def join(self, branch: str) -> bool:
        """Merges our commits with those that others pushed, unless they conflict."""
        tree, pushed = self.worktrees[branch], self.branches.get(branch, [])
        if not set(pushed) - set(tree.commits):
            return True
        if branch in self.clashes:
            return False
        if tree.commits == pushed[: len(tree.commits)]:
            tree.commits = list(pushed)
        else:
            self._merge_into(tree, branch, *pushed)
        return True

    def take_in(self, branch: str, merge: str) -> tuple[str, ...]:
        """Merges as far as git can; conflicts stay in the worktree, uncommitted."""
        tree = self.worktrees[branch]
        if branch in self.clashes and set(self.branches.get(branch, [])) - set(tree.commits):
            tree.commits += [commit for commit in self.branches[branch] if commit not in tree.commits]
            tree.dirty = True
            self.clashes.discard(branch)
            return ("CONFLICT with what others pushed",)
        if merge and branch in self.conflicts:
            tree.dirty = True
            return (f"CONFLICT with {merge}",)
        if merge and branch in self.behind:
            self.behind.discard(branch)
            self._merge_into(tree, branch)
        return ()

    def _merge_into(self, tree: Tree, branch: str, *commits: str) -> None:
        tree.commits += [commit for commit in commits if commit not in tree.commits]
        tree.commits.append(_commit_id(branch, "merge", len(tree.commits)))

    def begin_turn(self, request: TurnOrder) -> None:
        before = self.ensure_tree(request.branch, request.project).head
        self.requests[request.turn_id] = request
        conflicts = self.take_in(request.branch, request.merge)
        if request.merge and not conflicts and not request.comments:
            change = replace(self.commit(request.branch), before=before)
            self.turns[request.turn_id] = TurnReport(TurnState.SUCCEEDED, session=request.session, change=change)
            return
        if request.handover and (
            held := self.take_back(
                request.branch, request.handover.message, request.handover.at, request.allowed
            ).blocked
        ):
            report = TurnReport(TurnState.SUCCEEDED, session=request.session, change=held)
            self.turns[request.turn_id] = replace(report, delivered=frozenset(request.comments))
            return
        if request.publish_only:
            report = TurnReport(TurnState.SUCCEEDED, session=request.session, delivered=frozenset(request.comments))
            change = replace(self.commit(request.branch, request.allowed), before=before)
            self.turns[request.turn_id] = replace(report, change=change)
            return
        session = request.session or f"session-of-{request.run_id}"
        heard = frozenset(request.comments)
        progress = Progress(session=session, last_event_at=self.now, delivered=heard)
        self.turns[request.turn_id] = TurnReport(TurnState.RUNNING, progress, session=session, delivered=heard)

    def stop_turn(self, turn_id: str) -> None:
        self.turns[turn_id] = self._ended(turn_id, TurnState.STOPPED, 0.0, 0)

    def tell(self, turn_id: str, message: Message) -> None:
        if any((to, one.id) == (turn_id, message.id) for to, one in self.told):
            return
        self.told.append((turn_id, message))
        for name in () if self.deaf else message.comments or (message.id,):
            self._happens(turn_id, Event(EventKind.DELIVERED, self.now, text=name))

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

    def _resay(self, comment: str, change: Callable[[Comment], Comment]) -> None:
        for said in self.people_said.values():
            said[:] = [change(one) if one.id == comment else one for one in said]
        self._touch()

    def _set_pull(self, key_or_branch: str, state: PullRequestState) -> None:
        branch = self.branch_of(key_or_branch)
        self.pulls[branch] = replace(self.pulls[branch], state=state)

    def _say(
        self,
        where: str,
        place: CommentPlace,
        text: str,
        author: Person,
        remarks: tuple[Remark, ...] = (),
        *,
        review: bool = False,
        approves: bool = False,
        thread: str = "",
    ) -> str:
        self.ever_said += 1
        name = f"c{self.ever_said}"
        comment = Comment(name, place, author, text, self.now, remarks, review=review, approves=approves, thread=thread)
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
        heard = report.delivered | report.progress.delivered
        ended = replace(report, state=state, session_cost_usd=total, tokens=tokens, agent_turns=1, delivered=heard)
        return replace(ended, ended_at=self.now)


def _person(name: str, trusted: bool, may_push: bool | None = None) -> Person:  # noqa: FBT001
    return Person(name, trusted=trusted, may_push=trusted if may_push is None else may_push)


def _commit_id(*words: object) -> str:
    return hashlib.sha1(repr(words).encode()).hexdigest()
