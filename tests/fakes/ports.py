"""Every port of the engine, over the imaginary World."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.domain.change import Change, HandWork
from bot.domain.issue import IssueStage
from bot.domain.pull_request import Checks, PullRequest, PullRequestState
from bot.domain.reaction import Reaction
from bot.domain.remote import Remote
from bot.domain.salvage import SalvageLocation
from bot.domain.turn import Message, TurnOrder, TurnReport, TurnState, Workspace, WorktreeMounts
from bot.errors import NeedsHuman, NeedsTurn, Retryable
from bot.ports import ForgeView, Poll, TrackerView
from bot.text.pull_request_section import replace_section
from tests.fakes.world import Tree, World


@dataclass
class FakeTracker:
    world: World
    project: str = "shop"
    label: str = "ai"
    looked_at: int = field(default=-1)

    async def snapshot(self, keys: Collection[str], *, poll: Poll | None = None) -> TrackerView:
        self.world.reach("tracker.snapshot")
        self.looked_at = self.world.version
        self.world.looked_for |= set(keys)
        issues = {
            key: issue
            for key, issue in self.world.issues.items()
            if self.world.projects[key] == self.project and (key in keys or (issue.open and self.label in issue.labels))
        }
        unplaced = {key: labels for key, labels in self.world.unplaced.items() if key not in keys}
        issues = {key: issue for key, issue in issues.items() if key not in unplaced}
        return TrackerView(issues, {key: self.world.seen(key) for key in issues}, unplaced)

    async def judge_again(self, key: str, comments: Collection[str], *, request: bool) -> TrackerView:
        self.world.reach("judge_again")
        self.world.judge_again(key, comments, request=request)
        return TrackerView({key: self.world.issues[key]}, {key: self.world.seen(key)})

    async def changed(self) -> bool:
        self.world.reach("changed")
        return self.looked_at != self.world.version

    async def ensure_comment(self, key: str, *, slug: str, text: str, note: str = "", thread: str = "") -> None:
        self.world.reach("ensure_comment")
        self.world.issue(key)
        self.world.said[key, slug] = text
        self.world.notes[key, slug] = note
        if thread:
            self.world.threads[key, slug] = thread
        self.world.answer("ensure_comment")

    async def find_orphaned(self, labels: Collection[str]) -> Collection[str]:
        self.world.reach("find_orphaned")
        here = [issue for key, issue in self.world.issues.items() if self.world.projects[key] == self.project]
        asking = {issue.key for issue in here if self.label in issue.labels}
        return [
            issue.key
            for issue in here
            if (set(labels) & issue.labels and issue.key not in asking if issue.open else issue.key in asking)
        ]

    async def read_run_notes(self, key: str) -> Sequence[str]:
        self.world.reach("read_run_notes")
        return [note for (said_on, _), note in self.world.notes.items() if said_on == key and note]

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        self.world.reach("ensure_labels")
        issue = self.world.issue(key)
        self.world.issues[key] = replace(issue, labels=(issue.labels - set(remove)) | set(add))
        self.world.answer("ensure_labels")

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        self.world.reach("ensure_reaction")
        self.world.reactions.setdefault(comment, set()).add(reaction)


@dataclass
class FakeBoard:
    world: World

    async def ensure_stage(self, key: str, stage: IssueStage) -> None:
        self.world.reach("ensure_stage")
        issue = self.world.issue(key)
        assert issue.state
        self.world.issues[key] = replace(issue, state=replace(issue.state, stage=stage))
        self.world.answer("ensure_stage")

    async def ensure_link(self, key: str, *, url: str, title: str) -> None:
        self.world.reach("ensure_link")
        issue = self.world.issue(key)
        self.world.issues[key] = replace(issue, links=(issue.links or frozenset()) | {url})


@dataclass
class FakeForge:
    world: World
    project: str = "shop"

    async def snapshot(self, branches: Collection[str], *, poll: Poll | None = None) -> ForgeView:
        self.world.reach("forge.snapshot")
        here = (branch for branch in self.world.pulls if self.world.projects[branch] == self.project)
        pulls = {branch: self._pull(branch) for branch in here}
        comments = {branch: self.world.seen(branch) for branch in pulls if branch in branches}
        ours = frozenset(branch for branch in self.world.branches if self.world.projects[branch] == self.project)
        return ForgeView(pulls, comments, ours)

    async def judge_again(self, branch: str, comments: Collection[str]) -> ForgeView:
        self.world.reach("judge_again")
        self.world.judge_again(branch, comments, request=False)
        return ForgeView(comments={branch: self.world.seen(branch)})

    async def remote(self) -> Remote:
        self.world.reach("remote")
        return Remote(f"world:{self.project}")

    async def find_renamed(self, branch: str) -> str:
        self.world.reach("find_renamed")
        return self.world.renamed_branches.get(branch, "")

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        self.world.reach("ensure_draft")
        if branch not in self.world.branches:
            raise NeedsHuman(f"There is no branch {branch} to offer.")
        found = self.world.pulls.get(branch)
        if found and found.state is not PullRequestState.OPEN:
            raise Retryable(f"The pull request of {branch} is over.")
        if found:
            self.world.pulls[branch] = replace(found, body=replace_section(body, around=found.body))
        else:
            self._open(branch, base, title, body)
        self.world.answer("ensure_draft")

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        self.world.reach("ensure_comment")
        if branch not in self.world.pulls:
            raise NeedsHuman(f"There is no pull request of {branch}.")
        self.world.said[branch, slug] = text
        if thread:
            self.world.threads[branch, slug] = thread
        self.world.answer("ensure_comment")

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None:
        self.world.reach("ensure_reaction")
        self.world.reactions.setdefault(comment, set()).add(reaction)

    async def remove_branch(self, branch: str) -> None:
        self.world.reach("remove_branch")
        pull = self.world.pulls.get(branch)
        if pull and pull.state is PullRequestState.OPEN:
            self.world.pulls[branch] = replace(pull, state=PullRequestState.CLOSED)
        self.world.branches.pop(branch, None)
        self.world.answer("remove_branch")

    def _open(self, branch: str, base: str, title: str, body: str) -> None:
        number = 100 + len(self.world.pulls)
        head = self.world.branches[branch][-1]
        self.world.bases[branch] = base
        self.world.pulls[branch] = PullRequest(
            number,
            branch,
            title,
            replace_section(body),
            PullRequestState.OPEN,
            draft=True,
            head=head,
            url=f"world:{number}",
            base=base,
        )

    def _pull(self, branch: str) -> PullRequest:
        pull = self.world.pulls[branch]
        pushed = self.world.branches.get(branch)
        checks, conflicts = self.world.checks.get(branch, Checks()), branch in self.world.conflicts
        shown = self.world.lags.get(branch) or (pushed[-1] if pushed else pull.head)
        return replace(pull, head=shown, checks=checks, conflicts=conflicts)


@dataclass
class FakeWorkspaces:
    world: World
    project: str = "shop"

    async def share(self, ref: str, *, remote: Remote) -> SalvageLocation:
        self.world.reach("share")
        return SalvageLocation(ref, shared=True)

    async def ensure(self, branch: str, *, base: str, remote: Remote, merge: str = "") -> Workspace:
        self.world.reach("ensure")
        tree = self.world.ensure_tree(branch, self.project)
        conflicts = self.world.take_in(branch, merge)
        here = Path("/imaginary") / branch
        ground = WorktreeMounts(here, here / "shadow", here / "agent-git", here / "objects")
        return Workspace(ground, branch, tree.commits[0], tree.head, conflicts)

    async def capture(
        self, branch: str, *, message: str, at: float, allowed: Collection[str] = (), forbids: Collection[str] = ()
    ) -> Change:
        self.world.reach("capture", network=False)
        return self.world.commit(branch, allowed)

    async def fit_rewritten(self, branch: str, change: Change, *, remote: Remote) -> Change:
        return change

    async def ensure_ci_started(self, branch: str, *, remote: Remote) -> None:
        self.world.reach("ensure_ci_started")
        self.world.ci_started.append(branch)

    async def ensure_pushed(self, branch: str, *, remote: Remote, holds_ci: bool = False) -> None:
        self.world.reach("ensure_pushed")
        if not self.world.join(branch):
            raise NeedsTurn(f"Somebody else pushed to {branch}, and that conflicts with my commit.")
        self.world.branches[branch] = list(self.world.worktrees[branch].commits)
        self.world.published[branch] = self.world.branches[branch][-1]
        self.world.projects[branch] = self.project
        self.world.answer("ensure_pushed")

    def folder(self, branch: str) -> Path:
        return Path("/imaginary") / branch

    async def disarm(self, branch: str) -> None:
        self.world.reach("disarm", network=False)

    async def take_back(self, branch: str, *, message: str, at: float, allowed: Collection[str] = ()) -> HandWork:
        self.world.reach("take_back", network=False)
        return self.world.take_back(branch, message, at, allowed)

    async def put_back(self, branch: str) -> str:
        self.world.reach("put_back", network=False)
        return self.world.put_back(branch)

    async def salvage(self, branch: str) -> str:
        self.world.reach("salvage", network=False)
        tree = self.world.worktrees.get(branch)
        if tree is None or not self._unpublished(branch, tree):
            return ""
        return self.world.salvaged.setdefault(branch, f"refs/treehand/salvage/{branch}")

    async def remove(self, branch: str) -> None:
        self.world.reach("remove", network=False)
        self.world.worktrees.pop(branch, None)

    async def sweep(self, keep: Collection[str]) -> Sequence[str]:
        self.world.reach("sweep", network=False)
        ours = [branch for branch, tree in self.world.worktrees.items() if tree.project == self.project]
        done = []
        for branch in set(ours) - set(keep):
            saved = await self.salvage(branch)
            await self.remove(branch)
            done.append(f"removed {branch}" + (f", saved as {saved}" if saved else ""))
        return done

    async def maintain(self) -> None:
        self.world.reach("maintain", network=False)

    def _unpublished(self, branch: str, tree: Tree) -> bool:
        published = [*self.world.branches.get(branch, ()), tree.commits[0]]
        return tree.dirty or tree.head not in published


@dataclass
class FakeExecutor:
    """Turns continue until the test ends them."""

    world: World

    async def ensure_started(self, request: TurnOrder) -> None:
        self.world.reach("ensure_started", network=False)
        if request.turn_id not in self.world.turns:
            self.world.begin_turn(request)
        self.world.answer("ensure_started")

    async def reports(self) -> Mapping[str, TurnReport]:
        self.world.reach("reports", network=False)
        return dict(self.world.turns)

    async def send(self, turn_id: str, message: Message) -> None:
        self.world.reach("send", network=False)
        report = self.world.turns.get(turn_id)
        if report is None or report.state is not TurnState.RUNNING:
            raise Retryable(f"{turn_id} has ended.")
        self.world.tell(turn_id, message)
        self.world.answer("send")

    async def cancel(self, turn_id: str) -> None:
        self.world.reach("cancel", network=False)
        report = self.world.turns.get(turn_id)
        if report is not None and report.state is TurnState.RUNNING:
            self.world.stop_turn(turn_id)
        self.world.answer("cancel")

    async def release(self, turn_id: str) -> None:
        self.world.reach("release", network=False)
        self.world.turns.pop(turn_id, None)
