"""Keeps the house: what is over goes, salvaged work is shared and in time let go, and there is room to work.

Rule: runs are what everything is held against. What no run is known of is left until the trackers have been looked at:
a memory that was lost comes back from there. And what links lead to is nobody's.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.names import PREFIX, branch_for, home_for
from bot.domain.remote import Remote
from bot.domain.run import Cause, Phase, Run
from bot.domain.salvage import KEPT_DAYS, KEPT_SECONDS, Salvaged
from bot.errors import NeedsHuman, Retryable
from bot.evidence.store import Evidence
from bot.maintenance.fill_pools import Pools
from bot.ports import Project
from bot.settings import Settings
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system import clock
from bot.system.disk import Disk
from bot.system.trash import Trash
from bot.workspace.salvage_store import GitShelf
from bot.workspace.workspaces import GitWorkspaces

log = logging.getLogger(__name__)

_TAKEN_OVER = "-by-hand"
"""How a home ends that was made for a person to go on with the conversation."""


@dataclass(frozen=True, slots=True)
class Register:
    """Every run there ever was, by what it has on the disk."""

    runs: Sequence[Run]

    def active(self, project: str) -> frozenset[str]:
        return self._branches(project, over=False)

    def over(self, project: str) -> frozenset[str]:
        return self._branches(project, over=True)

    def kept_transcripts(self, since: float) -> frozenset[str]:
        """By run id: of runs that go on, or ended lately."""
        return frozenset(run.id for run in self.runs if run.phase is not Phase.DONE or run.changed_at >= since)

    def _branches(self, project: str, *, over: bool) -> frozenset[str]:
        ours = (run for run in self.runs if run.project == project)
        return frozenset(branch_for(run) for run in ours if (run.phase is Phase.DONE) is over)


@dataclass(frozen=True, slots=True)
class Cupboard:
    """What runs leave besides their worktrees: the agents' homes, and the transcripts."""

    settings: Settings
    transcripts: Transcripts

    def over(self, register: Register, projects: Sequence[str], *, everything: bool) -> Sequence[Path]:
        """`everything`: also of runs that nobody remembers."""
        homes = [home for project in projects for home in self._homes(register, project, everything=everything)]
        before = clock.now() - KEPT_SECONDS
        kept = register.kept_transcripts(before)
        evidence = Evidence(self.settings.state_dir / "evidence").older_than(before, keep=kept)
        return [*homes, *self.transcripts.older_than(before, keep=kept), *evidence]

    def remove(self, found: Sequence[Path]) -> Sequence[str]:
        """What was done, and what could not be."""
        trash = Trash(self.settings.state_dir / "trash" / "~homes")  # no project is called like this
        done = []
        for path in found:
            try:
                trash.throw(path)
            except OSError as problem:
                done.append(f"{path} could not be removed: {problem}")
            else:
                done.append(f"{path} removed")
        return [*done, *trash.empty()]

    def _homes(self, register: Register, project: str, *, everything: bool) -> Iterator[Path]:
        homes = self.settings.state_dir / "homes"
        active = {home_for(homes, project, branch).name for branch in register.active(project)}
        over = {home_for(homes, project, branch).name for branch in register.over(project)} - active
        if (homes / project).is_symlink() or not (homes / project).is_dir():
            return
        with os.scandir(homes / project) as listing:
            found = [item for item in listing if item.is_dir(follow_symlinks=False)]
        for item in found:
            name = item.name.removesuffix(_TAKEN_OVER)
            ours = name.startswith(PREFIX.replace("/", "-")) and name not in active
            if ours and (everything or name in over):
                yield Path(item.path)


@dataclass(slots=True)
class House:
    settings: Settings
    store: RunStore
    cupboard: Cupboard
    projects: Mapping[str, Project]
    workspaces: Mapping[str, GitWorkspaces]
    pools: Pools
    disk: Disk
    away: Callable[[], Collection[str]]
    """The projects of which runs may live that nobody here knows of."""
    may_tend: Callable[[Project], Awaitable[bool]]
    """Is a repository ours to write to, or another daemon's?"""
    forget: Callable[[float], None]
    """What the agent noted before this moment may go."""
    looked: bool = False
    """Every run that lives is known: the trackers have been looked at since we began."""
    _told: bool = field(default=False)

    async def sweep(self) -> Sequence[str]:
        """Worktrees, branches, homes and transcripts against runs. What was done, for people."""
        done: list[str] = []
        try:
            register = Register(self.store.register())
            for project in self.projects.values():
                done += await self._sweep(project, register)
            judged = [name for name in self.projects if not (self.looked and name in self.away())]
            done += self.cupboard.remove(self.cupboard.over(register, judged, everything=self.looked))
            self.forget(clock.now() - KEPT_SECONDS)
        except (Retryable, OSError) as problem:
            log.warning("postponed sweep reason=%s", problem)
        for sentence in done:
            log.info("swept %s", sentence)
        return done

    async def tend(self) -> Sequence[str]:
        """Salvaged work: shared where that was not possible before, and let go when its time is over."""
        done: list[str] = []
        for project in self.projects.values():
            try:
                done += await self._tend(project)
            except (Retryable, NeedsHuman) as problem:
                log.warning("postponed salvage project=%s reason=%s", project.name, problem)
        for sentence in done:
            log.info("tended %s", sentence)
        return done

    async def make_room(self) -> Sequence[str]:
        """While the disk is short: what nobody waits for, what is over, what can be made again, and worktrees nobody
        works in; in this order.
        """
        if not self.disk.level().lack:
            return ()
        log.info("making room reason=%s", self.disk.level().lack)
        done = [*await self.pools.make_room(), *await self.sweep()]
        if self.disk.level().lack and not self.pools.is_filling:
            busy = {run.project for run in self.store.active()} & self.projects.keys()
            done += await asyncio.to_thread(_prune_caches, self.settings.state_dir, busy)
        for run, workspaces in self._idle():
            if self.disk.level().lack and await self._tried(workspaces.shed, run, "build output"):
                done.append(f"{branch_for(run)}: build output removed")
        for run, workspaces in self._idle():
            may_go = run.cause is not Cause.HELD  # what is in it is in no commit, and may be in none
            if may_go and self.disk.level().lack and await self._tried(workspaces.park, run, "worktree"):
                done.append(f"{branch_for(run)}: worktree removed until its next turn")
        return done

    def watch(self) -> None:
        """While agents work: what they write may fill the disk. Said once, until it is well again."""
        level = self.disk.level()
        is_new = level.is_critical and not self._told
        if is_new and any(run.phase is Phase.WORKING for run in self.store.active()):
            log.warning("the disk fills up while agents work: %s", level.lack)
            self._told = True
        elif not level.lack:
            self._told = False

    async def maintain(self) -> None:
        """Mirrors stay small and quick."""
        for name, workspaces in self.workspaces.items():
            try:
                await workspaces.maintain()
            except Retryable as problem:
                log.warning("postponed upkeep project=%s reason=%s", name, problem)

    async def _sweep(self, project: Project, register: Register) -> Sequence[str]:
        """Of what is out of sight nothing is judged."""
        is_known = self.looked and project.name not in self.away()
        only = None if is_known else register.over(project.name)
        try:
            await self.workspaces[project.name].ensure_whole(project.forge.remote)
            return await self.workspaces[project.name].sweep(register.active(project.name), only=only)
        except (Retryable, NeedsHuman) as problem:
            log.warning("postponed sweep project=%s reason=%s", project.name, problem)
            return ()

    async def _tend(self, project: Project) -> Sequence[str]:
        shelf, now = self.workspaces[project.name].shelf, clock.now()
        remote = await _reached(project)
        if remote:
            await shelf.fetch(remote=remote)
        found, done = await shelf.look(), list[str]()
        await shelf.keep([one.ref for one in found if not one.at], now=now)
        due = [one for one in found if one.is_over(now) or (remote and not one.shared)]
        if due and remote and not await self.may_tend(project):
            log.info("salvage stays here project=%s reason=another treehand has the repository", project.name)
            remote = None
        for one in due:
            if one.is_over(now):
                done += await _let_go(project, shelf, one, remote)
            elif remote:
                done += await _shared(project, shelf, one, remote)
        return done

    def _idle(self) -> Iterator[tuple[Run, GitWorkspaces]]:
        """Who is not working, the longest first; looked up anew each time, for they may begin meanwhile."""
        waiting = sorted(self.store.active(), key=lambda run: run.changed_at)
        for run in waiting:
            now = self.store.find_run(run.key)
            if now and now.id == run.id and now.phase is not Phase.WORKING and now.cause is not Cause.TAKEN:
                yield now, self.workspaces[run.project]

    async def _tried(self, make_room: Callable[[str], Awaitable[bool]], run: Run, what: str) -> bool:
        """Trouble with one must not keep the others."""
        try:
            made = await make_room(branch_for(run))
        except (Retryable, NeedsHuman) as problem:
            log.warning("made no room run=%s reason=%s", run.id, problem)
            return False
        if made:
            log.info("made room run=%s removed=%s", run.id, what)
        return made


async def over(
    settings: Settings, store: RunStore, transcripts: Transcripts, workspaces: Mapping[str, GitWorkspaces]
) -> Sequence[str]:
    """What a sweep would remove, when nobody has looked at the trackers."""
    register, found = Register(store.register()), list[str]()
    for name, one in workspaces.items():
        found += await one.over(register.active(name), only=register.over(name))
    cupboard = Cupboard(settings, transcripts)
    return [*found, *map(str, cupboard.over(register, list(workspaces), everything=False))]


def _prune_caches(state_dir: Path, busy: Collection[str]) -> Sequence[str]:
    """Downloads that no run may come back to: the tools of some find there what they have installed."""
    trash, done = Trash(state_dir / "trash" / "~caches"), list[str]()
    for folder in _folders_in(state_dir / "caches"):
        for inner in _folders_in(folder) if folder.name not in busy else ():
            trash.throw(inner)
            done.append(f"{inner}: downloads removed")
    return [*done, *trash.empty()]


def _folders_in(folder: Path) -> Sequence[Path]:
    """Links are nobody's."""
    if folder.is_symlink() or not folder.is_dir():
        return ()
    with os.scandir(folder) as listing:
        return sorted(Path(item.path) for item in listing if item.is_dir(follow_symlinks=False))


async def _reached(project: Project) -> Remote | None:
    """Where salvaged work is besides; None: nowhere, just now or at all."""
    try:
        remote = await project.forge.remote()
    except (Retryable, NeedsHuman) as problem:
        log.info("salvage stays here project=%s reason=%s", project.name, problem)
        return None
    return None if remote.here else remote


async def _let_go(project: Project, shelf: GitShelf, one: Salvaged, remote: Remote | None) -> Sequence[str]:
    if one.shared and not remote:
        return ()  # there first, or nobody would know of it there any more
    if remote and project.claim:
        project.claim.check()
    await shelf.let_go(one, remote=remote)
    return [f"{one.ref} was kept for {KEPT_DAYS} days, and is removed"]


async def _shared(project: Project, shelf: GitShelf, one: Salvaged, remote: Remote) -> Sequence[str]:
    if project.claim:
        project.claim.check()
    try:
        kept = await shelf.share(one.ref, remote=remote)
    except NeedsHuman as problem:
        log.info("salvage stays here ref=%s reason=%s", one.ref, problem)
        return ()
    return [f"{kept.ref} is in the repository, too"] if kept.shared else ()
