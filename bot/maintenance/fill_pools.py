"""Keeps worktrees ready ahead of the runs that will take them: as many as are wished for, at the newest base.

Rule: nobody waits for it. It gives way to every run, is the first to go when room is short, and what fails is not tried
again before something is different, or an hour has passed.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.errors import NeedsHuman, Retryable
from bot.git.in_thread import in_thread
from bot.ports import Project
from bot.setup.prepare import WorktreeReadiness
from bot.system import clock
from bot.system.disk import Disk
from bot.workspace.capture import shown
from bot.workspace.paths import Places, slug_for
from bot.workspace.pool import Ahead, Pool
from bot.workspace.workspaces import GitWorkspaces

log = logging.getLogger(__name__)

_LOOK_SECONDS = 60.0
"""Between two looks at where the base is."""
_REST_SECONDS = 3600.0


@dataclass(slots=True)
class Pooled:
    """One project's."""

    project: Project
    size: int
    base: str
    workspaces: GitWorkspaces
    readiness: WorktreeReadiness
    onto: str = ""
    looked_at: float = 0.0
    rests_until: float = 0.0
    failed_at: str = ""
    """The commit that setup failed on."""

    @property
    def pool(self) -> Pool:
        return self.workspaces.pool

    async def discard(self, branch: str) -> None:
        folder = self.workspaces.folder(branch)
        if await in_thread(self.pool.discard, branch):
            await asyncio.to_thread(self.readiness.let_go, folder)


@dataclass(slots=True)
class Pools:
    state_dir: Path
    projects: Mapping[str, Pooled]
    disk: Disk
    _filling: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def clear(self) -> None:
        """What an earlier life left half made, and what is wished for no more. Before anything is begun."""
        for one in self.projects.values():
            for folder in await in_thread(one.pool.clear):
                await asyncio.to_thread(one.readiness.let_go, folder)
        await asyncio.to_thread(self._clear_strangers)

    async def fill(self) -> None:
        if self.is_filling:
            return
        async with self._filling:
            for one in self.projects.values():
                try:
                    await self._fill(one)
                except (Retryable, NeedsHuman) as problem:
                    log.info("pool waits project=%s reason=%s", one.project.name, problem)

    @property
    def is_filling(self) -> bool:
        return self._filling.locked()

    async def make_room(self) -> Sequence[str]:
        """All of it goes, and stays away for a while. What was done, for people."""
        done = []
        for one in self.projects.values():
            one.rests_until = clock.now() + _REST_SECONDS
            for ahead in await in_thread(one.pool.ready):
                await one.discard(ahead.branch)
                done.append(f"{one.project.name}: a worktree that was made ahead removed")
        return done

    async def _fill(self, one: Pooled) -> None:
        ready = await in_thread(one.pool.ready)
        for ahead in ready[one.size :]:
            await one.discard(ahead.branch)
        if not one.size:
            tell(one.pool.places, "")
            return
        commit = await self._newest(one)
        for ahead in await in_thread(one.pool.ready):
            if ahead.commit != commit:
                await _follow(one, ahead, commit)
        while self._may_make(one, commit) and len(await in_thread(one.pool.ready)) < one.size:
            if not await _make(one, commit):
                break

    async def _newest(self, one: Pooled) -> str:
        """As far as it is known: runs fetch as well."""
        if not one.onto or clock.now() - one.looked_at >= _LOOK_SECONDS:
            one.looked_at = clock.now()
            remote = await one.project.forge.remote()
            await one.workspaces.fetch(remote)
            one.onto = await in_thread(one.pool.onto, one.base, remote)
        return await in_thread(one.pool.tip, one.onto)

    def _may_make(self, one: Pooled, commit: str) -> bool:
        if one.failed_at and one.failed_at != commit:
            one.rests_until, one.failed_at = 0.0, ""
        return clock.now() >= one.rests_until and self.disk.has_spare()

    def _clear_strangers(self) -> None:
        """Of projects that are configured no more."""
        ours = {slug_for(name) for name in self.projects}
        for folder in (self.state_dir / "pools").glob("*"):
            if folder.name not in ours and not folder.is_symlink():
                pool = GitWorkspaces(self.state_dir, folder.name).pool
                for ahead in pool.ready():
                    pool.discard(ahead.branch)


async def _make(one: Pooled, commit: str) -> bool:
    workspace, is_made = await in_thread(one.pool.begin, commit, one.onto), False
    try:
        ready = await one.readiness.prepare(workspace)
        if ready is None:
            log.info("pool gave way project=%s", one.project.name)
            return False
        trouble = ready.obstacle.sentence if ready.obstacle else ""
        is_made = not trouble and await in_thread(one.pool.finish, workspace.branch, commit)
        _conclude(one, commit, trouble or ("" if is_made else "setup commits, or changes branches"))
    finally:
        if not is_made:
            await one.discard(workspace.branch)
    return is_made


async def _follow(one: Pooled, ahead: Ahead, commit: str) -> None:
    """Where no more than files have changed, they are all that is changed; else it goes, and another is made."""
    if not await in_thread(one.pool.withdraw, ahead.branch):
        return
    is_up = False
    try:
        is_up = await in_thread(one.pool.bring_up, ahead.branch, commit)
        is_up = is_up and await one.readiness.holds(ahead.branch, commit)
    finally:
        if is_up:
            await in_thread(one.pool.offer, ahead.branch, commit)
        else:
            await one.discard(ahead.branch)


def _conclude(one: Pooled, commit: str, trouble: str) -> None:
    if trouble:
        log.warning("pool stays empty project=%s: %s", one.project.name, trouble)
        one.failed_at, one.rests_until = commit, clock.now() + _REST_SECONDS
    tell(one.pool.places, trouble)


def tell(places: Places, trouble: str) -> None:
    """For whoever asks how the pool does."""
    file = places.pool / "trouble"
    if not trouble:
        file.unlink(missing_ok=True)
        return
    places.pool.mkdir(parents=True, exist_ok=True)
    file.write_text(shown(trouble.encode(errors="replace")))
