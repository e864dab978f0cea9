"""One turn, on whichever machine it runs: workspace, agent, capture, verification, report.

Never pushes and never talks to people.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.change import Change, HandWork
from bot.domain.evidence import FOLDER, Shown
from bot.domain.names import home_for
from bot.domain.setup_plan import Obstacle, Ready
from bot.domain.turn import Failure, TurnReport, TurnRequest, TurnState, Work, Workspace
from bot.domain.verification import Verification
from bot.engine import prompts
from bot.engine.withhold_secrets import GivesAway, Screening
from bot.errors import BotError, NeedsHuman, Retryable
from bot.ports import Agent, Inbox, Notice, Project


@dataclass(frozen=True, slots=True)
class TurnTaker:
    projects: Callable[[str], Project]
    agent: Agent
    homes: Path
    """Where each run's agent keeps its configuration and history."""
    gives_away: GivesAway = lambda _: ()
    """What the agent says passes this, all of it."""

    async def __call__(self, request: TurnRequest, inbox: Inbox, notice: Notice) -> TurnReport:
        screening = Screening(self.gives_away)
        return screening.report(await self._taken(request, inbox, screening.screened(notice)))

    async def _taken(self, request: TurnRequest, inbox: Inbox, notice: Notice) -> TurnReport:
        """A turn's trouble is a value: what the agent or the workspace met is in the report."""
        project = self.projects(request.project)
        try:
            remote = await project.forge.remote()
            workspace = await project.workspaces.ensure(
                request.branch, base=request.base, remote=remote, merge=request.merge
            )
            by_hand = await _taken_back(request, workspace, project)
            if by_hand.held:
                return _held(by_hand.held, request)
            request = _with_what_was_done_by_hand(request, by_hand.diff)
            if request.offer or _is_merged(request, workspace):
                report = TurnReport(TurnState.SUCCEEDED, session=request.session)
                report = await self._captured(report, request, project)
                return await _verified(report, request, workspace, notice, project)
            ready = await _made_ready(workspace, request, notice, project)
            if ready.obstacle:
                return _unready(ready.obstacle, request)
            work = self._work(_with_conflicts(request, workspace), workspace, ready)
            if request.given:
                await self.agent.take_back(work.home, work.session)
            report = await self.agent.run(work, inbox, notice)
            report = await self._captured(report, request, project)
            return await _verified(report, request, workspace, notice, project)
        except (Retryable, NeedsHuman) as problem:
            return TurnReport(TurnState.FAILED, failure=Failure.SETUP, detail=str(problem), session=request.session)

    def _work(self, request: TurnRequest, workspace: Workspace, ready: Ready) -> Work:
        return Work(
            turn_id=request.turn_id,
            ground=workspace.ground,
            home=home_for(self.homes, request.project, request.branch),
            prompt=request.prompt,
            briefing=request.briefing,
            session=request.session,
            comments=request.comments,
            model=request.model,
            budget_usd=request.budget_usd,
            most_tokens=request.most_tokens,
            plan=request.plan,
            instructions=prompts.instructed(workspace.instructions, ready.done),
            ready=ready,
        )

    async def _captured(self, report: TurnReport, request: TurnRequest, project: Project) -> TurnReport:
        """Only a turn that came to its end is committed; what another left stays in the worktree for the next.

        Of a planning turn nothing stays.
        """
        if report.state is not TurnState.SUCCEEDED:
            return report
        heard = report.heard | frozenset(request.comments)
        try:
            if request.plan:
                salvaged = await project.workspaces.put_back(request.branch)
                return replace(report, planned=True, salvaged=salvaged, heard=heard)
            change = await project.workspaces.capture(
                request.branch,
                message=request.commit_message,
                at=request.at,
                allowed=request.allowed,
                forbids=request.forbids,
            )
        except (Retryable, NeedsHuman) as problem:
            if report.question:
                return replace(report, heard=heard)  # it asks in the middle of a merge; the rest waits for the answer
            # what the agent cost is owed all the same
            return replace(report, state=TurnState.FAILED, failure=Failure.SETUP, detail=str(problem))
        return await _with_evidence(replace(report, change=change, heard=heard), request, project)


async def _with_evidence(report: TurnReport, request: TurnRequest, project: Project) -> TurnReport:
    """What could not be kept is told with what was not committed. Trouble with it is in nobody's way."""
    if project.take_evidence is None or report.change is None:
        return report
    try:
        folder, turn = project.workspaces.folder(request.branch), request.turn_id.rpartition("/")[2]
        shown = await project.take_evidence(folder, request.run_id, turn)
    except BotError as problem:
        shown = Shown(left_out=(f"{FOLDER}: {problem}",))
    left_out = (*report.change.left_out, *shown.left_out)
    return replace(report, change=replace(report.change, left_out=left_out), evidence=shown.pieces)


def _is_merged(request: TurnRequest, workspace: Workspace) -> bool:
    """The base was to be taken in, and git could do that alone: no agent is needed."""
    return bool(request.merge) and not (workspace.conflicts or request.comments or request.given)


async def _made_ready(workspace: Workspace, request: TurnRequest, notice: Notice, project: Project) -> Ready:
    if project.readiness is None:
        return Ready()
    return await project.readiness.ensure(workspace, request.turn_id, notice)


async def _verified(
    report: TurnReport, request: TurnRequest, workspace: Workspace, notice: Notice, project: Project
) -> TurnReport:
    """Whatever is in the way of trying it: what was made stands, and that it was not tried is said."""
    change, readiness = report.change, project.readiness
    if change is None or readiness is None or not _is_to_verify(report, change, request):
        return report
    try:
        found = await readiness.verify(workspace, change, request.turn_id, notice)
    except BotError as problem:
        found = Verification(change.head, change.base, trouble=str(problem))
    return replace(report, verification=found)


def _is_to_verify(report: TurnReport, change: Change, request: TurnRequest) -> bool:
    """There is something to offer, and nobody knows yet whether it holds."""
    is_offered = report.state is TurnState.SUCCEEDED and not (report.question or change.objections)
    return is_offered and change.head not in {change.base, request.verified}


def _unready(obstacle: Obstacle, request: TurnRequest) -> TurnReport:
    return TurnReport(
        TurnState.FAILED,
        failure=Failure.UNREADY,
        detail=obstacle.sentence,
        session=request.session,
        obstacle=obstacle,
    )


def _with_conflicts(request: TurnRequest, workspace: Workspace) -> TurnRequest:
    """Only now is it known what git could not merge."""
    if not workspace.conflicts:
        return request
    prompt, briefing = (prompts.conflicting(workspace.conflicts, text) for text in (request.prompt, request.briefing))
    return replace(request, prompt=prompt, briefing=briefing)


async def _taken_back(request: TurnRequest, workspace: Workspace, project: Project) -> HandWork:
    """A commit of its own, before the agent adds to it."""
    given = request.given
    if given is None or workspace.conflicts:  # else it becomes part of the merge, which may not be resolved yet
        return HandWork()
    return await project.workspaces.take_back(
        request.branch, message=given.message, at=given.at, allowed=request.allowed
    )


def _with_what_was_done_by_hand(request: TurnRequest, diff: str) -> TurnRequest:
    """The agent is shown it."""
    if not (request.given and diff):
        return request
    by = request.given.by
    prompt, briefing = (prompts.handed_back(by, diff, text) for text in (request.prompt, request.briefing))
    return replace(request, prompt=prompt, briefing=briefing)


def _held(change: Change, request: TurnRequest) -> TurnReport:
    """What people said waits along with what was done by hand: no agent has been there."""
    heard = frozenset(request.comments)
    return TurnReport(TurnState.SUCCEEDED, session=request.session, change=change, heard=heard)
