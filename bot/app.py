"""The composition root: settings in, a wired engine out. The only importer of adapters.

Rule: what only the daemon needs is imported where it is wired: `treehand status` must not wait for it.
"""

import logging
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot import clock
from bot.domain.run import Phase, Run
from bot.embedded.desk import Desk, Site
from bot.engine.names import branch_for
from bot.errors import BadSettings, NeedsHuman, Retryable
from bot.locks import owner_of
from bot.settings import ProjectSettings, Settings
from bot.state import Glimpse, Picture
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.workspace.places import Places

if TYPE_CHECKING:
    import asyncio

    from bot.agents.claude import ClaudeAgent
    from bot.domain.policy import Policy
    from bot.engine.loop import Engine
    from bot.engine.schedule import Capacity
    from bot.executors.local import LocalExecutor
    from bot.ports import Outside, Project
    from bot.workspace.salvage import Salvaged

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    settings: Settings
    store: RunStore
    transcripts: Transcripts
    outside: "Outside"
    agent: "ClaudeAgent"
    executor: "LocalExecutor"
    engine: "Engine"
    woken: "asyncio.Event"

    async def recover(self) -> None:
        """What an earlier life left behind is put right before anything new is done."""
        ended = await self.agent.sweep()
        log.info("starting projects=%s orphans_ended=%d", ",".join(self.outside.projects), ended)
        await self.sweep()

    async def sweep(self) -> Sequence[str]:
        """Worktrees, branches and leftovers against runs. What was done, for people."""
        done: list[str] = []
        for project in self.outside.projects.values():
            keep = [branch_for(run) for run in self.store.active() if run.project == project.name]
            try:
                done += await project.workspaces.sweep(keep)
            except Retryable as problem:
                log.warning("postponed sweep project=%s reason=%s", project.name, problem)
        for sentence in done:
            log.info("swept %s", sentence)
        return done


async def agent_version(settings: Settings) -> str:
    return await _agent(settings, {}).version()


def desk_of(settings: Settings) -> Desk:
    """Where people do what they would do on the website of a tracker and a forge."""
    sites = {project.name: Site(project.repository, project.base) for project in settings.projects}
    return Desk(settings.state_dir, sites, clock.now)


def store_of(settings: Settings) -> RunStore:
    return RunStore.open(settings.state_dir / "treehand.db")


def transcripts_of(settings: Settings) -> Transcripts:
    return Transcripts(settings.state_dir / "transcripts")


@asynccontextmanager
async def wired(settings: Settings, model: Mapping[str, str]) -> AsyncIterator[App]:
    """Everything the daemon needs. `model` is how agents reach their model."""
    import asyncio

    from bot.engine.loop import Engine
    from bot.engine.turn import TurnTaker
    from bot.executors.local import LocalExecutor
    from bot.ports import Outside

    if not settings.projects:
        raise BadSettings("No [[projects]] are set, so there is nothing to do. `treehand init` writes one.")
    desk, store, transcripts, woken = desk_of(settings), store_of(settings), transcripts_of(settings), asyncio.Event()
    projects = {project.name: _project(project, settings, desk) for project in settings.projects}
    agent = _agent(settings, model)
    taker = TurnTaker(projects.__getitem__, agent, settings.state_dir / "homes")
    async with LocalExecutor(taker, on_change=woken.set, transcript=transcripts.append, clock=clock.now) as executor:
        outside = Outside(projects, executor, store)
        capacity = _Gauge(settings, store)
        async with Engine(outside, clock=clock.now, capacity=capacity, on_change=woken.set) as engine:
            yield App(settings, store, transcripts, outside, agent, executor, engine, woken)
    transcripts.flush()
    store.close()
    desk.close()


def _project(project: ProjectSettings, settings: Settings, desk: Desk) -> "Project":
    from bot.forges.local import LocalForge
    from bot.ports import Project
    from bot.trackers.local import LocalTracker
    from bot.workspace.workspaces import GitWorkspaces

    return Project(
        name=project.name,
        tracker=LocalTracker(desk, project.name, label=settings.label),
        forge=LocalForge(desk, project.name),
        workspaces=GitWorkspaces(settings.state_dir, project.name),
        policy=_policy(project, settings),
    )


def _policy(project: ProjectSettings, settings: Settings) -> "Policy":
    from bot.domain.policy import Policy

    limits, budget = settings.limits, settings.budget
    return Policy(
        label=settings.label,
        base=project.base,
        model=settings.agent.model,
        working=limits.working,
        working_per_project=limits.working_per_project,
        turn_seconds=limits.turn_minutes * 60,
        stall_seconds=limits.stall_minutes * 60,
        failures=limits.failures,
        per_issue_usd=budget.per_issue_usd,
        per_day_usd=budget.per_day_usd,
        sandboxed=settings.sandbox.kind != "none",
    )


def _agent(settings: Settings, model: Mapping[str, str]) -> "ClaudeAgent":
    from bot.agents.claude import ClaudeAgent  # its SDK takes the better part of a second to import

    return ClaudeAgent(settings.state_dir / "agent", environment=model, clock=clock.now)


@dataclass(frozen=True, slots=True)
class _Gauge:
    """What all projects share, measured when asked."""

    settings: Settings
    store: RunStore

    def __call__(self) -> "Capacity":
        from bot.engine.schedule import Capacity

        limits, now = self.settings.limits, clock.now()
        return Capacity(
            working=limits.working,
            per_day_usd=self.settings.budget.per_day_usd,
            spent_today_usd=self.store.spent(since=clock.day_of(now)),
            free_disk_gb=shutil.disk_usage(self.settings.state_dir).free / 1e9,
            least_free_disk_gb=limits.free_disk_gb,
        )


def over(settings: Settings, project: str) -> Sequence[str]:
    """Branches whose run is over, and that a sweep would remove."""
    from bot.workspace.mirror import Mirror
    from bot.workspace.removal import branches_known

    store = store_of(settings)
    keep = {branch_for(run) for run in store.active() if run.project == project}
    store.close()
    mirror = Mirror(Places(settings.state_dir, project).mirror)
    return sorted(set(branches_known(mirror)) - keep) if mirror.path.exists() else []


def salvaged(settings: Settings, project: str) -> "Sequence[Salvaged]":
    from bot.workspace.mirror import Mirror
    from bot.workspace.salvage import find_salvaged

    mirror = Mirror(Places(settings.state_dir, project).mirror)
    return find_salvaged(mirror) if mirror.path.exists() else ()


def restore(settings: Settings, project: str, number: int) -> tuple[str, str]:
    """The newest salvaged work of an issue becomes a branch of the person's own repository: what, and which."""
    from bot.embedded.landing import receive

    places = Places(settings.state_dir, project)
    folders = [places.of(branch_for(Run(f"{project}#{number}", project, ordinal))).salvage for ordinal in range(1, 100)]
    ours = [one for one in salvaged(settings, project) if one.ref.rpartition("/")[0] + "/" in folders]
    if not ours:
        raise NeedsHuman(f"Nothing was salvaged for {project}#{number}. `treehand clean` lists what there is.")
    desk = desk_of(settings)
    branch = receive(desk.repository(project), places.mirror, ours[-1].ref, f"restored/{project}-{number}".lower())
    desk.close()
    return ours[-1].ref, branch


def picture(settings: Settings) -> Picture:
    """What is going on, for whoever asks; also while no daemon runs. Opens what it needs, so any thread may ask."""
    desk, store, now = desk_of(settings), store_of(settings), clock.now()
    try:
        runs = store.latest(ended_since=clock.day_of(now))
        glimpses: dict[str, Glimpse] = {}
        for project in settings.projects:
            ours = [run for run in runs if run.project == project.name]
            glimpses |= _glimpses(project, ours, settings, desk)
        spent = store.spent(since=clock.day_of(now))
        return Picture(now, runs, glimpses, spent, settings.budget.per_day_usd, _health(settings))
    finally:
        store.close()
        desk.close()


def _glimpses(project: ProjectSettings, runs: Sequence[Run], settings: Settings, desk: Desk) -> Mapping[str, Glimpse]:
    titles, tips = desk.issues(project.name).titles(), desk.repository(project.name).tips()
    pulls, _ = desk.pulls(project.name).snapshot([branch_for(run) for run in runs], tips)
    transcripts, worktrees = transcripts_of(settings), Places(settings.state_dir, project.name)
    return {
        run.id: Glimpse(
            title=titles.get(run.key, ""),
            agent=settings.agent.kind,
            worktree=str(folder) if (folder := worktrees.of(branch_for(run)).folder).exists() else "",
            doing=transcripts.last_deed(run.id) if run.phase is Phase.WORKING else "",
            pull_request=pulls.get(branch_for(run)),
        )
        for run in runs
    }


def _health(settings: Settings) -> Mapping[str, tuple[bool, str]]:
    free = shutil.disk_usage(settings.state_dir).free / 1e9
    pid = owner_of(settings.state_dir)
    return {
        "daemon": (bool(pid), f"running as pid {pid}" if pid else "not running: start it with `treehand run`"),
        "disk": (free >= settings.limits.free_disk_gb, f"{free:.1f} GB free"),
        "sandbox": (False, "none: agents run with your own rights"),
    }
