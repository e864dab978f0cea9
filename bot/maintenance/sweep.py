"""Maintenance: removes finished workspaces and old files, shares and expires salvaged work, frees disk space.

Rule: everything is compared with the runs. Files of unknown runs stay until the trackers have been read, because lost
runs are restored from there. Links are not followed.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.branch_name import PREFIX, branch_for
from bot.domain.run import Phase, Run, WaitReason
from bot.domain.run_names import home_for
from bot.domain.salvage import RETENTION_SECONDS
from bot.errors import NeedsHuman, Retryable
from bot.evidence.store import EvidenceStore
from bot.maintenance.fill_pools import PoolFiller
from bot.maintenance.sync_salvage import sync_salvage
from bot.ports import Project
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system import clock
from bot.system.disk import Disk
from bot.system.trash import Trash
from bot.workspace.paths import AGENT_WORK
from bot.workspace.workspaces import GitWorkspaces

log = logging.getLogger(__name__)

_HAND_WORK_SUFFIX = "-by-hand"
"""Suffix of a home that was made for a person to continue the session."""


@dataclass(frozen=True, slots=True)
class RunIndex:
    """All runs, indexed by their branches and transcripts."""

    runs: Sequence[Run]

    def active(self, project: str) -> frozenset[str]:
        return self._branches(project, over=False)

    def over(self, project: str) -> frozenset[str]:
        return self._branches(project, over=True)

    def kept_transcripts(self, since: float) -> frozenset[str]:
        """Ids of active runs and runs that ended recently."""
        return frozenset(run.id for run in self.runs if run.phase is not Phase.DONE or run.changed_at >= since)

    def _branches(self, project: str, *, over: bool) -> frozenset[str]:
        ours = (run for run in self.runs if run.project == project)
        return frozenset(branch_for(run) for run in ours if (run.phase is Phase.DONE) is over)


@dataclass(frozen=True, slots=True)
class RunLeftovers:
    """Files that runs leave besides worktrees: agents' homes, transcripts, evidence."""

    state_dir: Path
    transcripts: Transcripts

    def over(self, index: RunIndex, projects: Sequence[str], *, everything: bool) -> Sequence[Path]:
        """`everything` includes files of unknown runs."""
        homes = [home for project in projects for home in self._homes(index, project, everything=everything)]
        before = clock.now() - RETENTION_SECONDS
        kept = index.kept_transcripts(before)
        evidence = EvidenceStore(self.state_dir / "evidence").older_than(before, keep=kept)
        return [*homes, *self.transcripts.older_than(before, keep=kept), *evidence, *self._aside(before)]

    def remove(self, found: Sequence[Path]) -> Sequence[str]:
        """Returns what was removed, and what could not be."""
        trash = Trash(self.state_dir / "trash" / "~homes")  # no valid project name
        done = []
        for path in found:
            try:
                trash.throw(path)
            except OSError as problem:
                done.append(f"{path} could not be removed: {problem}")
            else:
                done.append(f"{path} removed")
        return [*done, *trash.empty()]

    def _aside(self, before: float) -> Iterator[Path]:
        """Work that no commit can hold. Folders that Treehand did not create stay."""
        for folder in self.state_dir.glob("aside/*/*"):
            if AGENT_WORK.fullmatch(folder.name) and folder.lstat().st_mtime < before:
                yield folder

    def _homes(self, index: RunIndex, project: str, *, everything: bool) -> Iterator[Path]:
        homes = self.state_dir / "homes"
        active = {home_for(homes, project, branch).name for branch in index.active(project)}
        over = {home_for(homes, project, branch).name for branch in index.over(project)} - active
        if (homes / project).is_symlink() or not (homes / project).is_dir():
            return
        with os.scandir(homes / project) as listing:
            found = [item for item in listing if item.is_dir(follow_symlinks=False)]
        for item in found:
            name = item.name.removesuffix(_HAND_WORK_SUFFIX)
            ours = name.startswith(PREFIX.replace("/", "-")) and name not in active
            if ours and (everything or name in over):
                yield Path(item.path)


@dataclass(slots=True)
class Maintenance:
    state_dir: Path
    store: RunStore
    leftovers: RunLeftovers
    projects: Mapping[str, Project]
    workspaces: Mapping[str, GitWorkspaces]
    pools: PoolFiller
    disk: Disk
    unreadable_projects: Callable[[], Collection[str]]
    """Projects whose tracker could not be read, and that may have unknown runs."""
    may_write: Callable[[Project], Awaitable[bool]]
    """Returns True if this daemon holds the lease of the repository."""
    delete_turns_before: Callable[[float], None]
    """Deletes stored turns from before this moment."""
    trackers_read: bool = False
    """The trackers have been read since the start, so every active run is known."""
    _disk_warned: bool = field(default=False)

    async def sweep(self) -> Sequence[str]:
        """Removes worktrees, branches, homes and transcripts of finished runs. Returns what was done, for people."""
        done: list[str] = []
        try:
            index = RunIndex(self.store.all_runs())
            for project in self.projects.values():
                done += await self._sweep(project, index)
            judged = [name for name in self.projects if not (self.trackers_read and name in self.unreadable_projects())]
            done += self.leftovers.remove(self.leftovers.over(index, judged, everything=self.trackers_read))
            self.delete_turns_before(clock.now() - RETENTION_SECONDS)
        except (Retryable, OSError) as problem:
            log.warning("sweep postponed reason=%s", problem)
        for sentence in done:
            log.info("swept: %s", sentence)
        return done

    async def sync_salvage(self) -> Sequence[str]:
        """Shares salvaged work with the remote and deletes it after its retention period."""
        done: list[str] = []
        for project in self.projects.values():
            try:
                done += await sync_salvage(
                    project, self.workspaces[project.name].salvage_store, may_write=self.may_write
                )
            except (Retryable, NeedsHuman) as problem:
                log.warning("salvage sync postponed project=%s reason=%s", project.name, problem)
        for sentence in done:
            log.info("salvage synced: %s", sentence)
        return done

    async def make_room(self) -> Sequence[str]:
        """Frees disk space in a shortage: pools, finished runs, caches, build output, idle worktrees, in this order."""
        if not self.disk.level().shortage:
            return ()
        log.info("disk space low: clean-up started reason=%s", self.disk.level().shortage)
        done = [*await self.pools.make_room(), *await self.sweep()]
        if self.disk.level().shortage and not self.pools.is_filling:
            busy = {run.project for run in self.store.active()} & self.projects.keys()
            done += await asyncio.to_thread(_prune_caches, self.state_dir, busy)
        for run, workspaces in self._idle_runs():
            if self.disk.level().shortage and await self._try_to_free(workspaces.drop_ignored, run, "build output"):
                done.append(f"{branch_for(run)}: build output removed")
        for run, workspaces in self._idle_runs():
            may_go = run.wait_reason is not WaitReason.BLOCKED  # the work is in no commit and may not be committed
            if may_go and self.disk.level().shortage and await self._try_to_free(workspaces.evict, run, "worktree"):
                done.append(f"{branch_for(run)}: worktree removed until its next turn")
        return done

    def watch_disk(self) -> None:
        """Warns once when the disk fills up while agents work."""
        level = self.disk.level()
        is_new = level.is_critical and not self._disk_warned
        if is_new and any(run.phase is Phase.WORKING for run in self.store.active()):
            log.warning("disk is filling up while agents work: %s", level.shortage)
            self._disk_warned = True
        elif not level.shortage:
            self._disk_warned = False

    async def pack_mirrors(self) -> None:
        """Packs the mirrors."""
        for name, workspaces in self.workspaces.items():
            try:
                await workspaces.pack_mirror()
            except Retryable as problem:
                log.warning("mirror packing postponed project=%s reason=%s", name, problem)

    async def _sweep(self, project: Project, index: RunIndex) -> Sequence[str]:
        """Removes nothing of projects whose runs may be unknown."""
        is_known = self.trackers_read and project.name not in self.unreadable_projects()
        only = None if is_known else index.over(project.name)
        try:
            await self.workspaces[project.name].ensure_mirror_intact(project.forge.remote)
            return await self.workspaces[project.name].sweep(index.active(project.name), only=only)
        except (Retryable, NeedsHuman) as problem:
            log.warning("sweep postponed project=%s reason=%s", project.name, problem)
            return ()

    def _idle_runs(self) -> Iterator[tuple[Run, GitWorkspaces]]:
        """Runs that are not working, idle longest first; each is read again, because it may have started meanwhile."""
        waiting = sorted(self.store.active(), key=lambda run: run.changed_at)
        for run in waiting:
            now = self.store.find_run(run.key)
            if (
                now
                and now.id == run.id
                and now.phase is not Phase.WORKING
                and now.wait_reason is not WaitReason.TAKEN_OVER
            ):
                yield now, self.workspaces[run.project]

    async def _try_to_free(self, make_room: Callable[[str], Awaitable[bool]], run: Run, what: str) -> bool:
        """Logs a failure, so that the others continue."""
        try:
            made = await make_room(branch_for(run))
        except (Retryable, NeedsHuman) as problem:
            log.warning("disk space not freed run=%s reason=%s", run.id, problem)
            return False
        if made:
            log.info("disk space freed run=%s removed=%s", run.id, what)
        return made


async def list_removable(
    state_dir: Path, store: RunStore, transcripts: Transcripts, workspaces: Mapping[str, GitWorkspaces]
) -> Sequence[str]:
    """Returns what a sweep would remove if the trackers were not read."""
    index, found = RunIndex(store.all_runs()), list[str]()
    for name, one in workspaces.items():
        found += await one.list_removable(index.active(name), only=index.over(name))
    leftovers = RunLeftovers(state_dir, transcripts)
    return [*found, *map(str, leftovers.over(index, list(workspaces), everything=False))]


def _prune_caches(state_dir: Path, busy: Collection[str]) -> Sequence[str]:
    """Deletes download caches of projects without active runs, whose tools may use files installed there."""
    trash, done = Trash(state_dir / "trash" / "~caches"), list[str]()
    for folder in _list_folders(state_dir / "caches"):
        for inner in _list_folders(folder) if folder.name not in busy else ():
            trash.throw(inner)
            done.append(f"{inner}: downloads removed")
    return [*done, *trash.empty()]


def _list_folders(folder: Path) -> Sequence[Path]:
    """Skips links."""
    if folder.is_symlink() or not folder.is_dir():
        return ()
    with os.scandir(folder) as listing:
        return sorted(Path(item.path) for item in listing if item.is_dir(follow_symlinks=False))
