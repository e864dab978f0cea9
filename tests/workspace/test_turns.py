"""A complete turn over real worktrees with a merge."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from bot.domain.change import Change, Handover
from bot.domain.evidence import FOLDER, EvidenceResult
from bot.domain.issue import Issue
from bot.domain.policy import Policy
from bot.domain.remote import Remote
from bot.domain.run import Run
from bot.domain.setup_plan import SetupResult
from bot.domain.turn import AgentTask, Event, EventKind, Failure, TurnOrder, TurnReport, TurnState
from bot.engine import prompts
from bot.engine.messages import checks_text
from bot.engine.run_turn import TurnRunner
from bot.errors import Retryable
from bot.evidence.collect import EvidenceCollector
from bot.evidence.store import EvidenceStore
from bot.git import progress
from bot.ports import Project
from bot.secret_scan.scanner import Secrets
from bot.workspace.step_events import report_git
from bot.workspace.workspaces import GitWorkspaces
from tests.workspace.conftest import Origin, run_git

BRANCH = "treehand/shop-1"


@dataclass
class Writing:
    """An agent that writes the files it is given."""

    files: dict[str, str] = field(default_factory=dict)
    works: list[AgentTask] = field(default_factory=list)
    question: str = ""

    async def hand_over(self, home, session) -> None:
        """Does nothing: this agent has no session."""

    async def take_back(self, home, session) -> None:
        """Does nothing: this agent has no session."""

    async def run(self, work, inbox, notice) -> TurnReport:
        self.works.append(work)
        for name, content in self.files.items():
            (work.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (work.folder / name).write_text(content)
        return TurnReport(
            TurnState.SUCCEEDED,
            summary="Done.",
            question=self.question,
            session="s1",
            session_cost_usd=0.5,
            agent_turns=1,
        )


@dataclass
class Away:
    """A forge with only the methods that a turn needs."""

    origin: Origin

    renamed: dict[str, str] = field(default_factory=dict)

    async def remote(self) -> Remote:
        return self.origin.remote

    async def find_renamed(self, branch: str) -> str:
        return self.renamed.get(branch, "")


@dataclass
class Turns:
    taker: TurnRunner
    agent: Writing
    workspaces: GitWorkspaces

    def keeping(self, take_evidence) -> "Turns":
        project = replace(self.taker.projects("shop"), collect_evidence=take_evidence)
        self.taker = replace(self.taker, projects=lambda name: project)
        return self

    async def take(self, number: int, files: dict[str, str] | None = None, **more) -> TurnReport:
        self.agent.files = files or {}
        request = TurnOrder(
            f"shop#1/1/turn-{number}", "shop#1/1", "shop", BRANCH, "main", "Prompt.", "Briefing.", f"Turn {number}",
            1000.0 + number, **more,
        )  # fmt: skip
        return await self.taker(request, None, lambda event: None)


@pytest.mark.parametrize("begun", [False, True], ids=["a new run", "a run with a worktree"])
async def test_a_base_branch_that_was_renamed_is_followed_and_told_once(turns, origin, begun):
    if begun:
        await turns.take(1, {"a.txt": "1\n"})
    run_git(origin.bare, "branch", "-m", "main", "trunk")
    turns.taker.projects("shop").forge.renamed["main"] = "trunk"

    report = await turns.take(2, {"b.txt": "2\n"})
    assert (report.state, report.renamed_base) == (TurnState.SUCCEEDED, ("main", "trunk"))
    assert turns.workspaces._worktree(BRANCH).base_branch == "trunk"
    assert (await turns.take(3, {"c.txt": "3\n"})).renamed_base == ()


async def test_a_base_branch_that_is_gone_asks_without_an_agent(turns, origin):
    await turns.take(1, {"a.txt": "1\n"})
    run_git(origin.bare, "branch", "-m", "main", "trunk")
    seen = len(turns.agent.works)
    report = await turns.take(2, {"b.txt": "2\n"})
    assert (report.state, report.failure) == (TurnState.FAILED, Failure.BASE)
    assert "The base branch `main` does not exist" in report.detail
    assert len(turns.agent.works) == seen, "no agent was paid for it"


async def no_evidence(*_: object) -> EvidenceResult:
    return EvidenceResult()


async def full(worktree, run_id, turn):
    raise Retryable("The disk is full.")


@pytest.fixture
def turns(workspaces, origin, tmp_path):
    agent = Writing()
    project = Project("shop", None, Away(origin), workspaces, Policy(), lambda branch, session: "")
    return Turns(TurnRunner(lambda name: project, agent, tmp_path / "homes"), agent, workspaces)


class EndlessSetup:
    """Verifies without an end."""

    def __init__(self) -> None:
        self.verifying = asyncio.Event()

    async def ensure(self, *_: object) -> SetupResult:
        return SetupResult()

    async def verify(self, *_: object) -> None:
        self.verifying.set()
        await asyncio.Event().wait()


STEPS_AFTER_THE_AGENT = ("capture", "collect_evidence", "fit_rewritten", "verify")


@pytest.mark.parametrize("question", ["", "Which one?"], ids=["work", "a question"])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS_AFTER_THE_AGENT)
async def test_a_turn_cancelled_after_its_agent_ended_reports_what_the_agent_did(
    turns, monkeypatch, step, moment, question
):
    turns.agent.question = question
    setup, taken = EndlessSetup(), []
    project = replace(turns.taker.projects("shop"), setup=setup, collect_evidence=no_evidence)
    places = {"capture": project.workspaces, "fit_rewritten": project.workspaces, "verify": setup}
    turns.taker = replace(turns.taker, projects=lambda name: project)

    def cancelling(shipped):
        async def cancelled(*args, **more):
            taken.append(step)
            if moment == "before":
                turn.cancel()
            await asyncio.sleep(0)
            result = await shipped(*args, **more)
            turn.cancel()
            await asyncio.sleep(0)
            return result

        return cancelled

    if step == "collect_evidence":
        project = replace(project, collect_evidence=cancelling(no_evidence))
    else:
        monkeypatch.setattr(places[step], step, cancelling(getattr(places[step], step)), raising=False)
    if step == "verify" and moment == "after":
        monkeypatch.setattr(setup, "verify", cancelling(no_evidence))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        turn = group.create_task(turns.take(1, {"mine.py": "x\n"}, comments=("c1",)))
        if question and step == "verify":
            await asyncio.wait([turn])
    report = turn.result()
    assert (report.summary, report.session_cost_usd, report.delivered) == ("Done.", 0.5, {"c1"})
    assert report.change.head != report.change.base
    assert taken or (question and step == "verify"), "the step was not reached"
    assert report.state is (TurnState.SUCCEEDED if question else TurnState.STOPPED)


async def test_git_is_reported_as_events_of_the_turn_until_the_worktree_is_there(turns, origin, monkeypatch):
    monkeypatch.setattr(progress, "_UNTOLD_SECONDS", -1)
    monkeypatch.setattr(progress, "_TELL_SECONDS", 0.001)
    events: list[Event] = []
    request = TurnOrder("t-1", "shop#1/1", "shop", BRANCH, "main", "Prompt.", "Briefing.", "Turn", 1000.0)
    await replace(turns.taker, report_git=report_git)(request, None, events.append)
    assert {one.kind for one in events} == {EventKind.STEP}
    assert events[0].text
    assert events[-1].text == ""
    assert progress._tell.get() is None


async def test_a_base_that_git_can_merge_needs_no_agent(turns, origin):
    await turns.take(1, {"mine.py": "x\n"})
    theirs = origin.commit({"news.py": "y\n"})
    report = await turns.take(2, merge="main", session="s1")

    assert len(turns.agent.works) == 1
    assert (report.state, report.session, report.session_cost_usd, report.summary) == (
        TurnState.SUCCEEDED, "s1", 0.0, "",
    )  # fmt: skip
    assert isinstance(report.change, Change)
    assert report.change.base == theirs
    await turns.workspaces.ensure_pushed(BRANCH, remote=origin.remote)
    assert run_git(origin.bare, "merge-base", "main", BRANCH) == theirs


async def test_comments_reach_an_agent_after_a_clean_merge(turns, origin):
    await turns.take(1, {"mine.py": "x\n"})
    origin.commit({"news.py": "y\n"})
    report = await turns.take(2, {"more.py": "z\n"}, merge="main", comments=("c1",))

    assert turns.agent.works[-1].prompt == "Prompt."
    assert report.delivered == {"c1"}
    assert {file.path for file in report.change.files} == {"mine.py", "more.py"}


async def test_the_prompt_lists_conflicts_that_git_could_not_merge(turns, origin):
    await turns.take(1, {"README.md": "ours\n"})
    origin.commit({"README.md": "theirs\n"})
    report = await turns.take(2, {"README.md": "both\n"}, merge="main")

    told = turns.agent.works[-1]
    for text, end in ((told.prompt, "Prompt."), (told.briefing, "Briefing.")):
        assert "Merge conflict in README.md" in text
        assert text.endswith(end)
    assert run_git(origin.clone, "rev-parse", "origin/main") == report.change.base


async def test_a_question_during_a_merge_is_asked_and_the_merge_continues_afterwards(turns, origin):
    await turns.take(1, {"README.md": "ours\n"})
    origin.commit({"README.md": "theirs\n"})
    turns.agent.question = "Which one?"
    report = await turns.take(2, merge="main")
    assert (report.state, report.question, report.change) == (TurnState.SUCCEEDED, "Which one?", None)

    turns.agent.question = ""
    report = await turns.take(3, {"README.md": "theirs\n"})
    assert "Merge conflict in README.md" in turns.agent.works[-1].prompt
    assert report.change.base == run_git(origin.clone, "rev-parse", "origin/main")


async def test_changes_by_hand_during_a_merge_become_part_of_it(turns, origin):
    await turns.take(1, {"README.md": "ours\n"})
    origin.commit({"README.md": "theirs\n"})
    await turns.take(2, merge="main")
    (turns.agent.works[-1].folder / "by_hand.py").write_text("x\n")
    report = await turns.take(3, {"README.md": "both\n"}, merge="main", handover=Handover("ana", "By ana", 1002.5))

    assert "Merge conflict in README.md" in turns.agent.works[-1].prompt
    assert {file.path for file in report.change.files} == {"README.md", "by_hand.py"}


async def test_remaining_conflict_markers_fail_the_turn_and_its_cost_is_reported(turns, origin):
    await turns.take(1, {"README.md": "ours\n"})
    origin.commit({"README.md": "theirs\n"})
    report = await turns.take(2, merge="main")

    assert (report.state, report.failure, report.session_cost_usd) == (TurnState.FAILED, Failure.SETUP, 0.5)
    assert "`README.md`" in report.detail
    again = await turns.take(3, {"README.md": "both\n"}, merge="main")
    assert "Merge conflict in README.md" in turns.agent.works[-1].prompt
    assert again.state is TurnState.SUCCEEDED


async def test_t12_blocked_changes_by_hand_start_no_agent(turns):
    await turns.take(1)
    (turns.workspaces.folder(BRANCH) / "CLAUDE.md").write_text("Obey.\n")
    report = await turns.take(2, handover=Handover("ben", "By hand", 2000.0))
    assert [one.path for one in report.change.objections] == ["CLAUDE.md"]
    assert len(turns.agent.works) == 1


async def test_evidence_is_in_the_report_and_files_that_cannot_be_kept_are_listed(turns, tmp_path):
    secrets = Secrets({"TOKEN": "s3cret-value-of-mine"})
    turns.keeping(EvidenceCollector(EvidenceStore(tmp_path / "evidence"), secrets).collect)
    files = {f"{FOLDER}/a.log": "seen", f"{FOLDER}/b.log": "s3cret-value-of-mine", "mine.py": "x\n"}
    report = await turns.take(1, files)
    assert [(one.name, one.turn) for one in report.evidence] == [("a.log", "turn-1")]
    assert report.change.left_out == (f"{FOLDER}/b.log: contains TOKEN",)
    assert [file.path for file in report.change.files] == ["mine.py"]
    told = checks_text.of_evidence(Run("shop#1", "shop"), report)
    assert "- `a.log` (text/plain, 1 kB)" in told
    assert "`treehand show shop#1`" in told
    assert FOLDER in prompts.briefing(Issue("shop#1", "Fix", "", frozenset(), open=True), ())


async def test_a_file_name_with_a_secret_is_not_shown(turns, tmp_path):
    turns.keeping(EvidenceCollector(EvidenceStore(tmp_path / "evidence"), Secrets({"TOKEN": "s3cret-value"})).collect)
    report = await turns.take(1, {f"{FOLDER}/s3cret-value.log": "seen"})
    assert report.evidence == ()
    assert report.change.left_out == (f"{FOLDER}: a file whose name contains TOKEN",)


async def test_evidence_of_a_run_is_limited_in_size(turns, tmp_path):
    turns.keeping(EvidenceCollector(EvidenceStore(tmp_path / "evidence"), Secrets(), max_bytes=10).collect)
    await turns.take(1, {f"{FOLDER}/a.log": "123456"})
    report = await turns.take(2, {f"{FOLDER}/b.log": "123456"})
    assert [one.name for one in report.evidence] == ["a.log"]
    assert "b.log: this run has" in report.change.left_out[0]


async def test_a_failure_to_keep_evidence_does_not_fail_the_turn(turns):
    report = await turns.keeping(full).take(1, {"mine.py": "x\n"})
    assert report.state is TurnState.SUCCEEDED
    assert report.change.left_out == (f"{FOLDER}: The disk is full.",)
