"""One turn, on whichever machine it runs: workspace, agent, capture, report. Never pushes and never talks to people."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.turn import Failure, TurnReport, TurnRequest, TurnState, Work
from bot.errors import NeedsHuman, Retryable
from bot.ports import Agent, Inbox, Notice, Project


@dataclass(frozen=True, slots=True)
class TurnTaker:
    projects: Callable[[str], Project]
    agent: Agent
    homes: Path
    """Where each run's agent keeps its configuration and history."""

    async def __call__(self, request: TurnRequest, inbox: Inbox, notice: Notice) -> TurnReport:
        """A turn's trouble is a value: what the agent or the workspace met is in the report."""
        project = self.projects(request.project)
        try:
            remote = await project.forge.remote()
            workspace = await project.workspaces.ensure(request.branch, base=request.base, remote=remote)
            report = await self.agent.run(self._work(request, workspace.path), inbox, notice)
            return await self._captured(report, request, project)
        except (Retryable, NeedsHuman) as problem:
            return TurnReport(TurnState.FAILED, failure=Failure.SETUP, detail=str(problem), session=request.session)

    def _work(self, request: TurnRequest, folder: Path) -> Work:
        return Work(
            turn_id=request.turn_id,
            folder=folder,
            home=self.homes / request.project / request.branch.replace("/", "-"),
            prompt=request.prompt,
            briefing=request.briefing,
            session=request.session,
            comments=request.comments,
            model=request.model,
            budget_usd=request.budget_usd,
        )

    async def _captured(self, report: TurnReport, request: TurnRequest, project: Project) -> TurnReport:
        """Only a turn that came to its end is committed; what another left stays in the worktree for the next."""
        if report.state is not TurnState.SUCCEEDED:
            return report
        change = await project.workspaces.capture(request.branch, message=request.commit_message, at=request.at)
        return replace(report, change=change, heard=report.heard | frozenset(request.comments))
