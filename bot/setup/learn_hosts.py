"""Learns the hosts that setup downloads from: sets a fresh worktree of the base up, in a sandbox that records them.

Rule: the worktree is made for this and holds the base alone, so no agent has written anything that runs in it.
"""

from dataclasses import dataclass

from bot.domain.remote import Remote
from bot.domain.setup_plan import SetupObstacle
from bot.git.in_thread import in_thread
from bot.sandbox.proxy.learned_hosts import LearnedHosts
from bot.setup.prepare import ProjectSetup
from bot.workspace.workspaces import GitWorkspaces


@dataclass(frozen=True, slots=True)
class LearnedSetup:
    hosts: tuple[str, ...]
    """Public hosts that setup reached."""
    private: tuple[str, ...]
    """Hosts with a private address, which it did not reach."""
    obstacle: SetupObstacle | None
    """Why setup failed; None if it ended well."""


async def set_up_base(
    workspaces: GitWorkspaces, setup: ProjectSetup, base: str, remote: Remote, learned: LearnedHosts
) -> LearnedSetup:
    await workspaces.fetch(remote)
    pool = workspaces.pool
    branch = await in_thread(pool.find_base_branch, base, remote)
    workspace = await in_thread(pool.start, await in_thread(pool.base_tip, branch), branch)
    ready = await setup.prepare(workspace)
    return LearnedSetup(tuple(learned.reached), tuple(learned.private), ready.obstacle if ready else None)
