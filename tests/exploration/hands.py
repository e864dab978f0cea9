"""Ports of the engine over one `State`: the effects of the shipped `perform` and `Intake` on it.

Rule: no port waits, so that a coroutine of the engine runs to its end without an event loop.
"""

from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from bot.domain.pull_request import CheckState, PullRequestState
from bot.domain.reaction import Reaction
from bot.domain.remote import Remote
from bot.domain.run import CLOSED, Phase, Run
from bot.domain.run_names import PROGRESS_SLUG
from bot.domain.salvage import SalvageLocation
from bot.domain.turn import Message, TurnOrder, TurnReport, TurnState
from bot.errors import NeedsHuman, Retryable
from bot.ports import ForgeView, Poll, Ports, Project, TrackerView
from bot.text.pull_request_section import replace_section
from tests.exploration.state import (
    BASE,
    CLEAN,
    KEY,
    POLICY,
    PROJECT,
    REPORTS,
    RUNS,
    TEXTS,
    Pull,
    State,
    Working,
    branch_of,
    comments_at,
    issue_for,
    merged,
    ordinal_of,
    pull_for,
    put,
    report_for,
    reports_of,
    undated,
)

MUTE = "The tracker takes nothing that only shows."

T = TypeVar("T")


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("It waits for something.")


@dataclass(slots=True)
class Hands:
    """The state that the ports change."""

    state: State

    def change(self, **fields: Any) -> None:
        self.state = self.state._replace(**fields)

    def turn(self, turn_id: str) -> tuple[int, int]:
        run, _, turn = turn_id.rpartition("/turn-")
        return int(run.rpartition("/")[2]), int(turn)

    def replace_turn(self, turn_id: str, report: Working | TurnReport | None) -> None:
        name = self.turn(turn_id)
        others = tuple(each for each in self.state.turns if each[:2] != name)
        self.change(turns=tuple(sorted((*others, (*name, REPORTS.of(report))))) if report else others)

    def find_turn(self, turn_id: str) -> Working | TurnReport | None:
        name = self.turn(turn_id)
        return next((REPORTS[number] for *found, number in self.state.turns if tuple(found) == name), None)


@dataclass(slots=True)
class Tracker:
    hands: Hands

    async def snapshot(self, keys: Collection[str], *, poll: Poll | None = None) -> TrackerView:
        state = self.hands.state
        is_shown = state.there and (KEY in keys or (state.open and POLICY.label in state.labels))
        return (
            TrackerView({KEY: issue_for(state)}, {KEY: comments_at(state, 0)}, {})
            if is_shown
            else TrackerView({}, {}, {})
        )

    async def changed(self) -> bool:
        return True

    async def find_orphaned(self, labels: Collection[str]) -> Collection[str]:
        state = self.hands.state
        if not state.there:
            return []
        asks = POLICY.label in state.labels
        is_orphan = (bool(set(labels) & state.labels) and not asks) if state.open else asks
        return [KEY] if is_orphan else []

    async def read_run_notes(self, key: str) -> Sequence[str]:
        return [note for number in self.hands.state.progress if number >= 0 and (note := TEXTS[number][1])]

    async def ensure_comment(self, key: str, *, slug: str, text: str, note: str = "", thread: str = "") -> None:
        self._need_issue()
        ordinal, _, name = slug.partition("/")
        if name == PROGRESS_SLUG:
            self.hands.change(progress=put(self.hands.state.progress, int(ordinal), TEXTS.of((text, note))))
        elif name.startswith("ask-"):
            self.hands.change(question=slug)

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        self._need_issue()
        state = self.hands.state
        if state.hidden_labels is None:
            self.hands.change(labels=(state.labels - set(remove)) | set(add))
        else:
            self.hands.change(hidden_labels=(state.hidden_labels - set(remove)) | set(add))

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        self._need_issue()
        _see(self.hands, comment, reaction)

    def _need_issue(self) -> None:
        if not self.hands.state.there:
            raise NeedsHuman("The issue is gone.")
        if self.hands.state.mute:
            raise NeedsHuman(MUTE)


@dataclass(slots=True)
class Forge:
    hands: Hands

    async def snapshot(self, branches: Collection[str], *, poll: Poll | None = None) -> ForgeView:
        state = self.hands.state
        pulls = {branch_of(number): pull for number in (1, 2) if (pull := pull_for(state, number))}
        comments = {branch: comments_at(state, ordinal_of(branch)) for branch in pulls if branch in branches}
        there = frozenset(branch_of(number) for number in (1, 2) if state.branches[number - 1])
        return ForgeView(pulls, comments, there)

    async def remote(self) -> Remote:
        return Remote("forge:shop")

    async def find_renamed(self, branch: str) -> str:
        return ""

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        state, ordinal = self.hands.state, ordinal_of(branch)
        pull = state.pulls[ordinal - 1]
        if not state.branches[ordinal - 1]:
            raise NeedsHuman(f"There is no branch {branch} to offer.")
        if pull and pull.state is not PullRequestState.OPEN:
            raise Retryable(f"The pull request of {branch} is over.")
        offered = pull._replace(body=replace_section(body, around=pull.body)) if pull else None
        self.hands.change(
            pulls=put(state.pulls, ordinal, offered or Pull(PullRequestState.OPEN, replace_section(body)))
        )

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        self._need_pull(branch)

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None:
        self._need_pull(branch)
        _see(self.hands, comment, reaction)

    async def remove_branch(self, branch: str) -> None:
        state, ordinal = self.hands.state, ordinal_of(branch)
        pull = state.pulls[ordinal - 1]
        if pull and pull.state is PullRequestState.OPEN:
            pull = pull._replace(state=PullRequestState.CLOSED)
        self.hands.change(pulls=put(state.pulls, ordinal, pull), branches=put(state.branches, ordinal, ""))

    def _need_pull(self, branch: str) -> None:
        if self.hands.state.pulls[ordinal_of(branch) - 1] is None:
            raise NeedsHuman(f"There is no pull request of {branch}.")


@dataclass(slots=True)
class Workspaces:
    hands: Hands

    async def ensure_pushed(self, branch: str, *, remote: Remote, holds_ci: bool = False) -> None:
        """Merges commits of people, and never drops one."""
        state, ordinal = self.hands.state, ordinal_of(branch)
        theirs, ours = state.branches[ordinal - 1], state.trees[ordinal - 1]
        if not ours:
            raise NeedsHuman(f"There is no worktree of {branch}.")
        newest, pull = merged(ours, theirs), state.pulls[ordinal - 1]
        if pull and newest != theirs:
            has_base = any(part.startswith("merge") for part in newest.split("+") if part not in theirs.split("+"))
            pull = pull._replace(checks=CheckState.NONE, conflicts=pull.conflicts and not has_base)
        self.hands.change(
            branches=put(state.branches, ordinal, newest),
            trees=put(state.trees, ordinal, newest),
            pulls=put(state.pulls, ordinal, pull),
        )

    def folder(self, branch: str) -> Path:
        return Path("/imaginary") / branch

    async def disarm(self, branch: str) -> None:
        pass

    async def salvage(self, branch: str) -> str:
        state, ordinal = self.hands.state, ordinal_of(branch)
        ours, theirs = state.trees[ordinal - 1], state.branches[ordinal - 1]
        is_published = merged(ours, theirs) in {"", BASE, theirs}
        return "" if is_published and not state.objected[ordinal - 1] else f"refs/treehand/salvage/{branch}"

    async def share(self, ref: str, *, remote: Remote) -> SalvageLocation:
        return SalvageLocation(ref, shared=True)

    async def remove(self, branch: str) -> None:
        state, ordinal = self.hands.state, ordinal_of(branch)
        self.hands.change(trees=put(state.trees, ordinal, ""), objected=put(state.objected, ordinal, CLEAN))


@dataclass(slots=True)
class Executor:
    hands: Hands

    async def ensure_started(self, order: TurnOrder) -> None:
        if self.hands.find_turn(order.turn_id) is None:
            self.hands.replace_turn(
                order.turn_id,
                Working(
                    order.plan, order.publish_only, bool(order.merge), frozenset(order.comments), bool(order.allowed)
                ),
            )
            self._ensure_worktree(ordinal_of(order.branch))

    def _ensure_worktree(self, ordinal: int) -> None:
        state = self.hands.state
        newest = merged(BASE, state.branches[ordinal - 1], state.trees[ordinal - 1])
        self.hands.change(trees=put(state.trees, ordinal, newest))

    async def reports(self) -> Mapping[str, TurnReport]:
        return reports_of(self.hands.state)

    async def send(self, turn_id: str, message: Message) -> None:
        turn = self.hands.find_turn(turn_id)
        if not isinstance(turn, Working):
            raise Retryable(f"{turn_id} has ended.")
        self.hands.replace_turn(turn_id, turn._replace(comments=turn.comments | set(message.comments)))

    async def cancel(self, turn_id: str) -> None:
        turn = self.hands.find_turn(turn_id)
        if isinstance(turn, Working):
            end_early(self.hands, turn_id, TurnState.STOPPED)

    async def release(self, turn_id: str) -> None:
        self.hands.replace_turn(turn_id, None)


def end_early(hands: Hands, turn_id: str, how: TurnState) -> None:
    """Ends a running turn: its tokens are spent, and nothing is captured."""
    ordinal, number = hands.turn(turn_id)
    running = next(report for *name, report in hands.state.turns if tuple(name) == (ordinal, number))
    report = report_for(running)
    tokens = report.progress.tokens
    ended = replace(report, state=how, session=report.progress.session, tokens=tokens)
    hands.replace_turn(turn_id, ended)
    hands.change(spent=hands.state.spent + tokens)


@dataclass(slots=True)
class Store:
    hands: Hands

    def active(self) -> Sequence[Run]:
        return [run for run in self._runs() if run.phase is not Phase.DONE]

    def ended_unshown(self) -> Sequence[Run]:
        newest = self._runs()[-1:]
        return [run for run in newest if run.phase is Phase.DONE and run.unshown]

    def ended_with_pull_request(self, project: str) -> Sequence[Run]:
        return [run for run in self._runs()[-1:] if run.phase is Phase.DONE and run.reason == CLOSED]

    def find_run(self, key: str) -> Run | None:
        return next(reversed(self._runs()), None)

    def last_ordinal(self, key: str) -> int:
        return max((run.ordinal for run in self._runs()), default=0)

    def save(self, run: Run, *, at: float, notes: Sequence[str] = (), **_: Any) -> None:
        others = {RUNS[number].ordinal: number for number in self.hands.state.runs}
        others[run.ordinal] = undated(RUNS.of(run))
        self.hands.change(runs=tuple(others[ordinal] for ordinal in sorted(others)))

    def take_over(self, run: Run, *, at: float) -> None:
        """Adds the spending of another daemon, or of an earlier process, as a separate bill."""
        known = next((mine.spend.tokens for mine in self._runs() if mine.ordinal == run.ordinal), 0)
        for earlier in self._runs():
            if earlier.ordinal < run.ordinal and earlier.phase is not Phase.DONE:
                self.save(replace(earlier, phase=Phase.DONE), at=at)
        self.save(run, at=at)
        lowest = min((turn for ordinal, turn, _ in self.hands.state.bills if ordinal == run.ordinal), default=0)
        tokens = max(run.spend.tokens - known, 0)
        bill = (run.ordinal, min(lowest, 0) - 1, tokens)
        self.hands.change(bills=self.hands.state.bills | ({bill} if tokens else set()))

    def _runs(self) -> list[Run]:
        return [RUNS[number] for number in self.hands.state.runs]


def _see(hands: Hands, comment: str, reaction: Reaction) -> None:
    if reaction is Reaction.SEEN:
        hands.change(eyes=hands.state.eyes | {comment})


async def _hand_over(branch: str, session: str, *, again: bool) -> str:
    return "claude --resume"


def ports_for(state: State) -> tuple[Hands, Ports, Project]:
    hands = Hands(state)
    project = Project(PROJECT, Tracker(hands), Forge(hands), Workspaces(hands), POLICY, _hand_over)
    return hands, Ports({PROJECT: project}, Executor(hands), Store(hands)), project
