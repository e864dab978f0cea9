"""People, agents, the network and kills act in any order: the promises hold at every step, and all runs end."""

import os
from collections import Counter

from hypothesis import HealthCheck, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bot.domain.pull_request import PullRequestState
from bot.domain.run import Phase
from bot.domain.turn import Failure
from tests.chaos.mortal import CAP, Mortal

KEYS = ("shop#1", "shop#2", "shop#3")
_WORDS = ("go on, please", "make it blue", "why so slow?", "/treehand stop", "/treehand retry")
_VERBS = (
    "tracker.snapshot", "forge.snapshot", "ensure_comment", "ensure_labels", "ensure_reaction", "ensure_draft",
    "ensure_pushed", "ensure_started", "remove_branch", "salvage", "remove", "cancel", "release", "send", "remote",
    "read_run_notes",
)  # fmt: skip
_ANSWERING = ("ensure_comment", "ensure_labels", "ensure_draft", "ensure_pushed", "remove_branch")
"""Remote calls, whose answer may be lost."""
_VISIBLE = {Phase.REVIEW, Phase.ASKING}
_ROUNDS = 60

key = strategies.sampled_from(KEYS)


class Story(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.bot = Mortal()
        self.world = self.bot.world
        self.asked: Counter[str] = Counter()
        """Times the label was added to each issue."""
        self.theirs: dict[str, set[str]] = {}
        """Commits of people, by branch."""
        self.spent = 0.0

    # Actions of people on issues

    @rule(key=key)
    def ask(self, key: str) -> None:
        if key not in self.world.issues:
            self.world.open_issue(key, "ai")
            self.asked[key] += 1
        elif "ai" not in self.world.labels(key):
            self.world.label(key, "ai")
            self.asked[key] += 1
        self.bot.tick()

    @rule(key=key)
    def unlabel(self, key: str) -> None:
        if key in self.world.issues:
            self.world.unlabel(key, "ai")
        self.bot.tick()

    @rule(key=key, words=strategies.sampled_from(_WORDS), trusted=strategies.booleans())
    def comment(self, key: str, words: str, *, trusted: bool) -> None:
        if key in self.world.issues:
            self.world.comment(key, words, by="ana" if trusted else "eve", trusted=trusted)
        self.bot.tick()

    @rule(key=key)
    def close_or_reopen(self, key: str) -> None:
        if key in self.world.issues:
            (self.world.close_issue if self.world.issues[key].open else self.world.reopen_issue)(key)
        self.bot.tick()

    @rule(key=key)
    def delete(self, key: str) -> None:
        if key in self.world.issues:
            self.world.delete_issue(key)
        self.bot.tick()

    # Actions of people on pull requests

    @precondition(lambda self: self.pulls())
    @rule(data=strategies.data(), words=strategies.sampled_from(_WORDS))
    def review(self, data: strategies.DataObject, words: str) -> None:
        branch = data.draw(strategies.sampled_from(self.pulls()))
        self.world.review(branch, text=words) if data.draw(strategies.booleans()) else self.world.review(branch)
        self.bot.tick()

    @precondition(lambda self: self.pulls(PullRequestState.OPEN))
    @rule(data=strategies.data(), merged=strategies.booleans())
    def merge_or_close(self, data: strategies.DataObject, *, merged: bool) -> None:
        branch = data.draw(strategies.sampled_from(self.pulls(PullRequestState.OPEN)))
        (self.world.merge if merged else self.world.close_pull)(branch)
        self.bot.tick()

    @precondition(lambda self: self.pulls(PullRequestState.CLOSED))
    @rule(data=strategies.data())
    def reopen_pull(self, data: strategies.DataObject) -> None:
        branch = data.draw(strategies.sampled_from(self.pulls(PullRequestState.CLOSED)))
        if branch in self.world.branches:
            self.world.reopen_pull(branch)
        self.bot.tick()

    @precondition(lambda self: self.world.branches)
    @rule(data=strategies.data(), clashing=strategies.booleans(), forced=strategies.booleans())
    def push(self, data: strategies.DataObject, *, clashing: bool, forced: bool) -> None:
        branch = data.draw(strategies.sampled_from(sorted(self.world.branches)))
        if forced:
            self.theirs[branch] = {self.world.force_push(branch)}
        else:
            self.theirs.setdefault(branch, set()).add(self.world.push(branch, clashing=clashing))
        self.bot.tick()

    @precondition(lambda self: self.world.branches)
    @rule(data=strategies.data())
    def delete_branch(self, data: strategies.DataObject) -> None:
        branch = data.draw(strategies.sampled_from(sorted(self.world.branches)))
        if branch in self.world.pulls:
            self.world.delete_branch(branch)
            self.theirs.pop(branch, None)
        self.bot.tick()

    # Actions of agents

    @precondition(lambda self: self.bot.running())
    @rule(data=strategies.data(), how=strategies.sampled_from(("done", "nothing", "asks", "fails", "writes")))
    def agent(self, data: strategies.DataObject, how: str) -> None:
        turn = data.draw(strategies.sampled_from(self.bot.running()))
        match how:
            case "done":
                self.world.finish_turn(turn)
            case "nothing":
                self.world.finish_turn(turn, files=())
            case "asks":
                self.world.finish_turn(turn, files=(), question="Which one?")
            case "fails":
                self.world.fail_turn(data.draw(strategies.sampled_from((Failure.AGENT, Failure.MODEL))), turn=turn)
            case "writes":
                self.world.write_file(turn)
        self.bot.tick()

    # Faults

    @rule(verb=strategies.sampled_from(_VERBS), after=strategies.booleans())
    def doom(self, verb: str, *, after: bool) -> None:
        """Plans a kill at this verb."""
        self.world.doomed, self.world.after = verb, after

    @rule(verb=strategies.sampled_from(_ANSWERING))
    def drop(self, verb: str) -> None:
        self.world.drops.add(verb)

    @rule()
    def network(self) -> None:
        self.world.down = not self.world.down
        self.bot.tick()

    @rule(seconds=strategies.sampled_from((1.0, 30.0, 600.0, 7200.0)))
    def wait(self, seconds: float) -> None:
        self.world.wait(seconds)
        self.bot.tick()

    @rule(forgetting=strategies.booleans())
    def restart(self, *, forgetting: bool) -> None:
        self.bot.restart(forgetting=forgetting)
        if forgetting:
            self.spent = 0.0
        self.bot.tick()

    # Invariants

    @invariant()
    def promises(self) -> None:
        self.one_open_pull_request()
        self.one_progress_comment()
        self.nobodys_commit_is_lost()
        assert len(self.bot.running()) <= CAP
        spent = self.bot.store.spent(since=0.0)
        assert spent >= self.spent, f"{self.spent} became {spent}"
        self.spent = spent

    def one_open_pull_request(self) -> None:
        for one in KEYS:
            mine = [branch for branch in self.pulls(PullRequestState.OPEN) if _is_of(branch, one)]
            assert len(mine) <= max(self.asked[one], 1), f"{one} has {mine}"

    def one_progress_comment(self) -> None:
        for one in KEYS:
            mine = [slug for where, slug in self.world.said if where == one and slug.endswith("/progress")]
            assert len(mine) <= self.asked[one], f"{one} has {mine}"

    def nobodys_commit_is_lost(self) -> None:
        for branch, commits in self.theirs.items():
            there = self.world.branches.get(branch)
            assert there is None or commits <= set(there), f"{branch} lost {commits - set(there)}"

    def teardown(self) -> None:
        """Ends all faults; every run must reach its end."""
        try:
            self._calm()
            self._all_is_told()
            self.promises()
        finally:
            self.bot.end()

    def _calm(self) -> None:
        self.world.down, self.world.doomed = False, ""
        self.world.drops.clear()
        for _ in range(_ROUNDS):
            self.world.wait(1000.0)
            self.bot.tick()
            for turn in self.bot.running():
                self.world.finish_turn(turn)
            self.bot.tick()
            if not self.bot.running() and all(run.phase in _VISIBLE for run in self.bot.store.active()):
                break
        self.bot.sweep()

    def _all_is_told(self) -> None:
        for one, issue in self.world.issues.items():
            if "ai" in issue.labels and issue.open:
                shown = {label for label in issue.labels if label.startswith("ai:")}
                assert shown & {f"ai:{phase}" for phase in _VISIBLE}, (
                    f"{one} shows {shown}, and is {self.bot.phase(one)}"
                )
        assert set(self.world.worktrees) <= set(self.bot.open_branches())

    def pulls(self, *states: PullRequestState) -> list[str]:
        return sorted(branch for branch, pull in self.world.pulls.items() if not states or pull.state in states)


def _is_of(branch: str, key: str) -> bool:
    own = f"treehand/{key.replace('#', '-')}"
    return branch == own or branch.startswith(f"{own}-")


EXAMPLES = int(os.environ.get("CHAOS_EXAMPLES", "30"))

Story.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=25, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestStory = Story.TestCase
