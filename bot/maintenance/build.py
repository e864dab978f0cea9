"""Builds the maintenance of a running daemon, and the pools of worktrees that are prepared ahead of runs."""

from collections.abc import Mapping

from bot.maintenance.fill_pools import PoolFiller, ProjectPool
from bot.ports import Project
from bot.settings.schema import Settings
from bot.setup.prepare import ProjectSetup
from bot.system.disk import Disk
from bot.workspace.workspaces import GitWorkspaces


def build_pools(
    settings: Settings,
    projects: Mapping[str, Project],
    workspaces: Mapping[str, GitWorkspaces],
    setups: Mapping[str, ProjectSetup],
    disk: Disk,
) -> PoolFiller:
    pools = {
        one.name: ProjectPool(projects[one.name], one.pool, one.base, workspaces[one.name], setups[one.name])
        for one in settings.projects
    }
    return PoolFiller(settings.state_dir, pools, disk)


def change_pools(pools: PoolFiller, settings: Settings) -> None:
    """Takes over changed sizes; a pool that paused after a failure tries again."""
    for one in settings.projects:
        pools.projects[one.name].size = one.pool
        pools.projects[one.name].paused_until = 0.0
