"""Fills the pools: keeps the configured number of worktrees set up at the newest base commit.

Rule: it yields to every run and is the first to free disk space; after a failure it pauses for an hour or
until the base moves.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.errors import NeedsHuman, Retryable
from bot.git.in_thread import in_thread
from bot.ports import Project
from bot.setup.prepare import ProjectSetup
from bot.system import clock
from bot.system.disk import Disk
from bot.text.invisible_characters import printable_path
from bot.workspace.paths import ProjectPaths, slug_for
from bot.workspace.pool import PooledWorktree, WorktreePool
from bot.workspace.workspaces import GitWorkspaces

log = logging.getLogger(__name__)

_CHECK_SECONDS = 60.0
"""Interval between two fetches of the base branch."""
_PAUSE_SECONDS = 3600.0


@dataclass(slots=True)
class ProjectPool:
    """Pool of one project, its size, and its pause after a failure."""

    project: Project
    size: int
    base: str
    workspaces: GitWorkspaces
    readiness: ProjectSetup
    base_branch: str = ""
    checked_at: float = 0.0
    paused_until: float = 0.0
    failed_commit: str = ""
    """Commit on which setup failed."""

    @property
    def pool(self) -> WorktreePool:
        return self.workspaces.pool

    async def discard(self, branch: str) -> None:
        folder = self.workspaces.folder(branch)
        if await in_thread(self.pool.discard, branch):
            await asyncio.to_thread(self.readiness.release, folder)


@dataclass(slots=True)
class PoolFiller:
    state_dir: Path
    projects: Mapping[str, ProjectPool]
    disk: Disk
    _filling: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def clear(self) -> None:
        """Removes unfinished worktrees of an earlier process and pools of removed projects. Called at the start.

        What cannot be removed now is left for the next start.
        """
        for one in self.projects.values():
            with _postponing(one.project.name):
                for folder in await in_thread(one.pool.clear_unfinished):
                    await in_thread(one.readiness.release, folder)
        with _postponing("removed"):
            await in_thread(self._clear_removed_projects)

    async def fill(self) -> None:
        if self.is_filling:
            return
        async with self._filling:
            for one in self.projects.values():
                try:
                    await self._fill(one)
                except (Retryable, NeedsHuman) as problem:
                    log.info("pool filling postponed project=%s reason=%s", one.project.name, problem)

    @property
    def is_filling(self) -> bool:
        return self._filling.locked()

    async def make_room(self) -> Sequence[str]:
        """Empties the pools and pauses them. Returns what was done, for people."""
        done = []
        for one in self.projects.values():
            one.paused_until = clock.now() + _PAUSE_SECONDS
            for worktree in await in_thread(one.pool.ready):
                await one.discard(worktree.branch)
                done.append(f"{one.project.name}: a worktree of the pool removed")
        return done

    async def _fill(self, one: ProjectPool) -> None:
        ready = await in_thread(one.pool.ready)
        for worktree in ready[one.size :]:
            await one.discard(worktree.branch)
        if not one.size:
            write_error(one.pool.paths, "")
            return
        commit = await self._newest_base(one)
        for worktree in await in_thread(one.pool.ready):
            if worktree.commit != commit:
                await _refresh(one, worktree, commit)
        while self._may_make(one, commit) and len(await in_thread(one.pool.ready)) < one.size:
            if not await _fill_one(one, commit):
                break

    async def _newest_base(self, one: ProjectPool) -> str:
        """Returns the newest known base commit; runs fetch as well."""
        if not one.base_branch or clock.now() - one.checked_at >= _CHECK_SECONDS:
            one.checked_at = clock.now()
            remote = await one.project.forge.remote()
            await one.workspaces.fetch(remote)
            one.base_branch = await in_thread(one.pool.find_base_branch, one.base, remote)
        return await in_thread(one.pool.base_tip, one.base_branch)

    def _may_make(self, one: ProjectPool, commit: str) -> bool:
        if one.failed_commit and one.failed_commit != commit:
            one.paused_until, one.failed_commit = 0.0, ""
        return clock.now() >= one.paused_until and self.disk.has_spare()

    def _clear_removed_projects(self) -> None:
        """Removes pools of projects that are no longer configured."""
        ours = {slug_for(name) for name in self.projects}
        for folder in (self.state_dir / "pools").glob("*"):
            if folder.name not in ours and not folder.is_symlink():
                pool = GitWorkspaces(self.state_dir, folder.name).pool
                for worktree in pool.ready():
                    pool.discard(worktree.branch)


@contextmanager
def _postponing(project: str) -> Iterator[None]:
    try:
        yield
    except (Retryable, NeedsHuman) as problem:
        log.warning("pool clearing postponed project=%s reason=%s", project, problem)


async def _fill_one(one: ProjectPool, commit: str) -> bool:
    workspace, is_made = await in_thread(one.pool.start, commit, one.base_branch), False
    try:
        ready = await one.readiness.prepare(workspace)
        if ready is None:
            log.info("pool filling interrupted by a run project=%s", one.project.name)
            return False
        error = ready.obstacle.sentence if ready.obstacle else ""
        is_made = not error and await in_thread(one.pool.finish, workspace.branch, commit)
        _record_result(one, commit, error or ("" if is_made else "setup commits, or changes branches"))
    finally:
        if not is_made:
            await one.discard(workspace.branch)
    return is_made


async def _refresh(one: ProjectPool, worktree: PooledWorktree, commit: str) -> None:
    """Refreshes a worktree if only files changed, else discards it."""
    if not await in_thread(one.pool.withdraw, worktree.branch):
        return
    is_up = False
    try:
        is_up = await in_thread(one.pool.refresh, worktree.branch, commit)
        is_up = is_up and await one.readiness.is_current(worktree.branch, commit)
    finally:
        if is_up:
            await in_thread(one.pool.mark_ready, worktree.branch, commit)
        else:
            await one.discard(worktree.branch)


def _record_result(one: ProjectPool, commit: str, error: str) -> None:
    if error:
        log.warning("pool filling failed project=%s: %s", one.project.name, error)
        one.failed_commit, one.paused_until = commit, clock.now() + _PAUSE_SECONDS
    write_error(one.pool.paths, error)


def write_error(places: ProjectPaths, error: str) -> None:
    """Stores the error for `status` and `check`."""
    file = places.pool / "trouble"
    if not error:
        file.unlink(missing_ok=True)
        return
    places.pool.mkdir(parents=True, exist_ok=True)
    file.write_text(printable_path(error.encode(errors="replace")))
