"""Hands a run's worktree and its agent's conversation over to a person."""

from dataclasses import dataclass
from pathlib import Path

from bot.domain.branch_name import branch_for
from bot.domain.run import Run
from bot.domain.run_names import home_for
from bot.ports import Agent
from bot.sandbox.build import chown_to_root
from bot.settings.schema import Settings
from bot.workspace.paths import ProjectPaths


@dataclass(frozen=True, slots=True)
class RunHandover:
    """The port `HandoverCommand`, for one project."""

    project: str
    settings: Settings
    agent: Agent

    async def __call__(self, branch: str, session: str, *, again: bool) -> str:
        if not again:
            from bot.setup.run_server import end_servers
            from bot.system.processes import state_dir_id

            await end_servers(state_dir_id(self.settings.state_dir / "agent"), branch)
            await chown_to_root(self.folder(branch))
            await self.agent.hand_over(self._home(branch), session)
        return self.command(branch, session)

    def command(self, branch: str, session: str) -> str:
        return self.agent.by_hand(folder=self.folder(branch), home=self._home(branch), session=session)

    def folder(self, branch: str) -> Path:
        return ProjectPaths(self.settings.state_dir, self.project).for_branch(branch).folder

    def _home(self, branch: str) -> Path:
        return home_for(homes_of(self.settings), self.project, branch)


def homes_of(settings: Settings) -> Path:
    """Folder that holds the home of every run's agent."""
    return settings.state_dir / "homes"


def worktree_and_command(settings: Settings, run: Run, agent: Agent) -> tuple[Path, str]:
    """A run's worktree, and the command that continues its agent's conversation there."""
    branch, handover = branch_for(run), RunHandover(run.project, settings, agent)
    return handover.folder(branch), handover.command(branch, run.session)
