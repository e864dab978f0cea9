"""Runs one turn: workspace, setup, agent, capture, verification, report.

Rule: it never pushes and never posts comments.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bot.domain.change import Change, HandWork
from bot.domain.evidence import FOLDER, EvidenceResult
from bot.domain.run_names import home_for
from bot.domain.setup_plan import SetupObstacle, SetupResult
from bot.domain.turn import AgentTask, Failure, TurnOrder, TurnReport, TurnState, Workspace
from bot.domain.verification import Verification
from bot.engine import prompts
from bot.engine.withhold_secrets import FindSecrets, SecretScreen
from bot.errors import BotError, DiskFull, NeedsHuman, NoBranch, Retryable
from bot.ports import Agent, EventSink, Inbox, Project
from bot.system.cancellation import finish_first, is_cancelled


@dataclass(frozen=True, slots=True)
class TurnRunner:
    projects: Callable[[str], Project]
    agent: Agent
    homes: Path
    """Folder of all agents' homes."""
    find_secrets: FindSecrets = lambda _: ()
    """Finds secrets in every text of the agent."""
    report_git: Callable[[EventSink], contextlib.AbstractContextManager[None]] = lambda _: contextlib.nullcontext()
    """While it is entered, long git commands are reported."""

    async def __call__(self, request: TurnOrder, inbox: Inbox, notice: EventSink) -> TurnReport:
        screening = SecretScreen(self.find_secrets)
        return screening.report(await self._run(request, inbox, screening.wrap(notice)))

    async def _run(self, request: TurnOrder, inbox: Inbox, notice: EventSink) -> TurnReport:
        """Failures of the agent and of the workspace are in the report, not raised."""
        project = self.projects(request.project)
        try:
            with self.report_git(notice):
                workspace, renamed = await _ensure_workspace(request, project)
            report = await self._work(request, workspace, project, inbox, notice)
            return replace(report, renamed_base=renamed)
        except NoBranch as problem:
            return TurnReport(TurnState.FAILED, failure=Failure.BASE, detail=str(problem), session=request.session)
        except (Retryable, NeedsHuman) as problem:
            failure = _failure_of(problem)
            return TurnReport(TurnState.FAILED, failure=failure, detail=str(problem), session=request.session)

    async def _work(
        self, request: TurnOrder, workspace: Workspace, project: Project, inbox: Inbox, notice: EventSink
    ) -> TurnReport:
        hand_work = await _commit_hand_work(request, workspace, project)
        if hand_work.blocked:
            return _blocked_hand_work(hand_work.blocked, request)
        request = _tell_hand_work(request, hand_work.diff)
        if request.publish_only or _merged_without_agent(request, workspace):
            report = TurnReport(TurnState.SUCCEEDED, session=request.session)
            report = await self._capture(report, request, project)
            return await _verify(report, request, workspace, notice, project)
        setup = await _set_up(workspace, request, notice, project)
        if setup.obstacle:
            return _setup_failed(setup.obstacle, request)
        work = self._agent_task(_tell_conflicts(request, workspace), workspace, setup)
        if request.handover:
            await self.agent.take_back(work.home, work.session)
        report = await self.agent.run(work, inbox, notice)
        report = await finish_first(self._capture(report, request, project))
        return await _verify_or_keep(report, request, workspace, notice, project)

    def _agent_task(self, request: TurnOrder, workspace: Workspace, setup: SetupResult) -> AgentTask:
        return AgentTask(
            turn_id=request.turn_id,
            mounts=replace(workspace.mounts, toolchains=setup.toolchains, services=setup.services),
            home=home_for(self.homes, request.project, request.branch),
            prompt=request.prompt,
            briefing=request.briefing,
            session=request.session,
            comments=request.comments,
            model=request.model,
            budget_usd=request.budget_usd,
            most_tokens=request.most_tokens,
            plan=request.plan,
            instructions=prompts.repository_instructions(
                workspace.instructions, setup.done, setup.services.summary if setup.services else ()
            ),
            setup=setup,
        )

    async def _capture(self, report: TurnReport, request: TurnOrder, project: Project) -> TurnReport:
        """Commits the work of a turn that succeeded, and undoes that of a planning turn.

        The work of any other turn stays in the worktree for the next.
        """
        if report.state is not TurnState.SUCCEEDED:
            return report
        delivered = report.delivered | frozenset(request.comments)
        try:
            if request.plan:
                salvaged = await project.workspaces.put_back(request.branch)
                return replace(report, planned=True, salvage_ref=salvaged, delivered=delivered)
            change = await project.workspaces.capture(
                request.branch,
                message=request.commit_message,
                at=request.at,
                allowed=request.allowed,
                forbids=request.forbids,
            )
        except (Retryable, NeedsHuman) as problem:
            if report.question:
                return replace(
                    report, delivered=delivered
                )  # the agent asks in the middle of a merge: the work waits for the answer
            # keeps the agent's cost
            return replace(report, state=TurnState.FAILED, failure=_failure_of(problem), detail=str(problem))
        return await _collect_evidence(replace(report, change=change, delivered=delivered), request, project)


def _failure_of(problem: BotError) -> Failure:
    return Failure.DISK if isinstance(problem, DiskFull) else Failure.SETUP


async def _ensure_workspace(request: TurnOrder, project: Project) -> tuple[Workspace, tuple[str, ...]]:
    """Follows a base branch that was renamed. Returns its former and its present name, too, if that is so."""
    remote = await project.forge.remote()
    ensure = partial(project.workspaces.ensure, request.branch, remote=remote, merge=request.merge)
    try:
        return await ensure(base=request.base), ()
    except NoBranch as missing:
        if not (now := await project.forge.find_renamed(missing.branch)):
            raise
        return await ensure(base=now), (missing.branch, now)


async def _fit_rewritten(report: TurnReport, request: TurnOrder, project: Project) -> TurnReport:
    """Names and verifies the commit that will be published, if people have rewritten the branch meanwhile."""
    if report.change is None or report.change.objections:
        return report
    with contextlib.suppress(Retryable, NeedsHuman):  # publishing tries again, and asks
        remote = await project.forge.remote()
        change = await project.workspaces.fit_rewritten(request.branch, report.change, remote=remote)
        return replace(report, change=change)
    return report


async def _collect_evidence(report: TurnReport, request: TurnOrder, project: Project) -> TurnReport:
    """Collects evidence; problems are listed in the report and stop nothing."""
    if project.collect_evidence is None or report.change is None:
        return report
    try:
        folder, turn = project.workspaces.folder(request.branch), request.turn_id.rpartition("/")[2]
        shown = await project.collect_evidence(folder, request.run_id, turn)
    except BotError as problem:
        shown = EvidenceResult(left_out=(f"{FOLDER}: {problem}",))
    left_out = (*report.change.left_out, *shown.left_out)
    return replace(report, change=replace(report.change, left_out=left_out), evidence=shown.files)


def _merged_without_agent(request: TurnOrder, workspace: Workspace) -> bool:
    """Returns True if git merged the base without conflicts, so that no agent is needed."""
    return bool(request.merge) and not (workspace.conflicts or request.comments or request.handover)


async def _set_up(workspace: Workspace, request: TurnOrder, notice: EventSink, project: Project) -> SetupResult:
    if project.setup is None:
        return SetupResult()
    return await project.setup.ensure(workspace, request.turn_id, notice, request.allowed)


async def _verify_or_keep(
    report: TurnReport, request: TurnOrder, workspace: Workspace, notice: EventSink, project: Project
) -> TurnReport:
    """As `_verify`. The agent has ended: a turn that is interrupted now is reported nevertheless, and never repeated.

    What was not verified yet counts as stopped, so that the next turn verifies it without an agent.
    """
    with contextlib.suppress(asyncio.CancelledError):
        if not is_cancelled():
            return await _verify(report, request, workspace, notice, project)
    return replace(report, state=TurnState.STOPPED) if _awaits_verification(report, request, project) else report


async def _verify(
    report: TurnReport, request: TurnOrder, workspace: Workspace, notice: EventSink, project: Project
) -> TurnReport:
    """Adds the verification. If that is impossible, the work stays, and the report says why it was not verified.

    If a person could make it possible by approving setup of the work with network, the work is held until then.
    """
    report = await _fit_rewritten(report, request, project)
    change, setup = report.change, project.setup
    if change is None or setup is None or not _needs_verification(report, change, request):
        return report
    try:
        found = await setup.verify(workspace, change, request.turn_id, notice, request.allowed)
    except BotError as problem:
        found = Verification(change.head, change.base, problem=str(problem))
    objections = (found.objection,) if found and found.objection else ()
    return replace(report, verification=found, change=replace(change, objections=objections))


def _needs_verification(report: TurnReport, change: Change, request: TurnOrder) -> bool:
    """Returns True if there is work to publish that has not been verified yet."""
    is_offered = report.state is TurnState.SUCCEEDED and not (report.question or change.objections)
    return is_offered and change.head not in {change.base, request.verified_commit}


def _awaits_verification(report: TurnReport, request: TurnOrder, project: Project) -> bool:
    change = report.change
    return project.setup is not None and change is not None and _needs_verification(report, change, request)


def _setup_failed(obstacle: SetupObstacle, request: TurnOrder) -> TurnReport:
    return TurnReport(
        TurnState.FAILED,
        failure=Failure.UNREADY,
        detail=obstacle.sentence,
        session=request.session,
        obstacle=obstacle,
    )


def _tell_conflicts(request: TurnOrder, workspace: Workspace) -> TurnOrder:
    """Names the files with conflicts in the prompt."""
    if not workspace.conflicts:
        return request
    prompt, briefing = (
        prompts.merge_conflicts(workspace.conflicts, text) for text in (request.prompt, request.briefing)
    )
    return replace(request, prompt=prompt, briefing=briefing)


async def _commit_hand_work(request: TurnOrder, workspace: Workspace, project: Project) -> HandWork:
    """Commits a person's changes on their own, before the agent adds to them."""
    given = request.handover
    if given is None or workspace.conflicts:  # with conflicts, these changes become part of the merge
        return HandWork()
    return await project.workspaces.take_back(
        request.branch, message=given.message, at=given.at, allowed=request.allowed
    )


def _tell_hand_work(request: TurnOrder, diff: str) -> TurnOrder:
    """Shows the agent a person's changes."""
    if not (request.handover and diff):
        return request
    by = request.handover.by
    prompt, briefing = (prompts.handed_back(by, diff, text) for text in (request.prompt, request.briefing))
    return replace(request, prompt=prompt, briefing=briefing)


def _blocked_hand_work(change: Change, request: TurnOrder) -> TurnReport:
    """Comments stay pending with the blocked hand work: no agent has seen them."""
    delivered = frozenset(request.comments)
    return TurnReport(TurnState.SUCCEEDED, session=request.session, change=change, delivered=delivered)
