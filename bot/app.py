"""The composition root: settings in, a wired engine out.

Rule: what only the daemon needs is imported where it is wired: `treehand status` must not wait for it.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bot.domain.names import branch_for, home_for, phase_labels
from bot.domain.run import Run
from bot.errors import BadSettings
from bot.sandbox.build import ensure_confined, give_to_us, sandbox_of
from bot.services.github.connect import Connections, claim_at, holder_in_words, on_github
from bot.services.linear.connect import on_linear
from bot.services.local.server import Desk, Site
from bot.settings import ProjectSettings, Settings
from bot.settings.credentials import known_secrets
from bot.setup.build import pools_of, readiness_of
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system import clock
from bot.system.disk import Disk
from bot.workspace.paths import Places

if TYPE_CHECKING:
    import asyncio

    from bot.agents.claude import ClaudeAgent
    from bot.domain.remote import Remote
    from bot.engine.loop import Engine
    from bot.engine.run_turn import TurnTaker
    from bot.evidence.collect import Exhibits
    from bot.evidence.store import Evidence
    from bot.executors.local import LocalExecutor
    from bot.maintenance.sweep import House
    from bot.ports import Outside, Project
    from bot.sandbox.interface import Sandbox
    from bot.secret_scan.scanner import Secrets
    from bot.services.github.tracker import GitHubTracker
    from bot.services.http.request_counts import Tally
    from bot.services.linear.tracker import LinearTracker
    from bot.services.registry import Services
    from bot.status.monitor import Vitals
    from bot.workspace.workspaces import GitWorkspaces

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
    house: "House"
    vitals: "Vitals"
    sandbox: "Sandbox"

    async def recover(self) -> None:
        """What an earlier life left behind is put right before anything new is done."""
        ended = await self.agent.sweep()
        log.info("starting projects=%s orphans_ended=%d", ",".join(self.outside.projects), ended)
        await ensure_confined(self.settings)
        await self.house.pools.clear()
        await self.house.sweep()

    async def release_claims(self) -> None:
        """Whoever waits for a repository of ours need not wait longer."""
        for project in self.outside.projects.values():
            if project.claim:
                await project.claim.release()


async def agent_version(settings: Settings) -> str:
    return await _agent(settings, {}).version()


def desk_of(settings: Settings) -> Desk:
    """Where people do what they would do on the website of a tracker and a forge."""
    local = (project for project in settings.projects if "local" in {project.tracker, project.forge})
    sites = {project.name: Site(project.folder, project.base) for project in local}
    return Desk(settings.state_dir, sites, clock.now)


def store_of(settings: Settings) -> RunStore:
    return RunStore.open(settings.state_dir / "treehand.db")


def evidence_of(settings: Settings) -> "Evidence":
    from bot.evidence.store import Evidence

    return Evidence(settings.state_dir / "evidence")


def _own_store(settings: Settings, redact: Callable[[str], str]) -> RunStore:
    return RunStore.own(settings.state_dir / "treehand.db", redact, at=clock.now())


def transcripts_of(settings: Settings, redact: Callable[[str], str] = str) -> Transcripts:
    return Transcripts(settings.state_dir / "transcripts", redact)


def secrets_of(settings: Settings) -> "Secrets":
    """What must never leave: all that is known now; more is learned as tokens are made."""
    from bot.secret_scan.scanner import Secrets

    return Secrets(known_secrets(settings))


@asynccontextmanager
async def wired(settings: Settings, model: Mapping[str, str], secrets: "Secrets | None" = None) -> AsyncIterator[App]:
    """Everything the daemon needs. `model` is how agents reach their model; `secrets` are those the logs know of."""
    import asyncio

    from bot.engine.loop import Engine
    from bot.engine.run_turn import TurnTaker
    from bot.limits import Gauge
    from bot.maintenance.sweep import Cupboard, House
    from bot.ports import Outside
    from bot.status.monitor import watching

    if not settings.projects:
        raise BadSettings("No [[projects]] are set, so there is nothing to do. `treehand init` writes one.")
    secrets = secrets or secrets_of(settings)
    desk, woken, sandbox = desk_of(settings), asyncio.Event(), sandbox_of(settings, model)
    agent = _agent_in(sandbox, settings)
    store, transcripts = _own_store(settings, secrets.redact), transcripts_of(settings, secrets.redact)
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(_reached(settings, secrets))
        workspaces = {project.name: workspaces_of(settings, project, secrets) for project in settings.projects}
        projects = {
            one.name: replace(
                _project(one, settings, desk, agent, services, workspaces[one.name]),
                leaks_in=secrets.find,
                readiness=readiness_of(settings, one, workspaces[one.name], sandbox, secrets),
                take_evidence=_exhibits(settings, secrets).take,
            )
            for one in settings.projects
        }
        executor = await stack.enter_async_context(
            _executor(
                TurnTaker(projects.__getitem__, agent, _homes(settings), secrets.given_away), store, transcripts, woken
            )
        )
        outside, disk = Outside(projects, executor, store), Disk(settings.state_dir, settings.limits.free_disk_gb)
        async with Engine(
            outside, clock=clock.now, capacity=Gauge(settings, store, disk), on_change=woken.set
        ) as engine:
            house = House(
                settings, store, Cupboard(settings, transcripts), projects, workspaces,
                pools_of(settings, projects, workspaces, disk), disk,
                lambda: engine.out_of_sight, engine.may_tend, agent.forget,
            )  # fmt: skip
            vitals = stack.enter_context(watching(settings, store, secrets.redact, services.tallies, sandbox.answers))
            yield App(settings, store, transcripts, outside, agent, executor, engine, woken, house, vitals, sandbox)
    for end in (transcripts.flush, store.close, desk.close):
        end()


def _exhibits(settings: Settings, secrets: "Secrets") -> "Exhibits":
    from bot.evidence.collect import Exhibits

    return Exhibits(evidence_of(settings), secrets)


@asynccontextmanager
async def _reached(settings: Settings, secrets: "Secrets") -> AsyncIterator["Services"]:
    from bot.services.registry import Services

    tallies: dict[str, Tally] = {}
    async with (
        on_github(settings, secrets, tallies) as there,
        on_linear(settings, there, as_daemon=True, tallies=tallies) as scopes,
    ):
        yield Services(there, scopes, tallies)


def _executor(taker: "TurnTaker", store: RunStore, transcripts: Transcripts, woken: "asyncio.Event") -> "LocalExecutor":
    from bot.executors.local import LocalExecutor

    return LocalExecutor(taker, book=store, on_change=woken.set, transcript=transcripts.append, clock=clock.now)


def _project(
    project: ProjectSettings,
    settings: Settings,
    desk: Desk,
    agent: "ClaudeAgent",
    services: "Services",
    workspaces: "GitWorkspaces",
) -> "Project":
    from bot.limits import policy_for
    from bot.ports import Board, Project
    from bot.services.registry import FORGES, TRACKERS, Parts, github_forge

    parts, claim = Parts(project, settings, desk, services), None
    if project.forge == "github" and parts.repository:
        remote = partial(github_forge(project, settings, parts.repository).remote, anew=False)
        claim = services.github.claim(settings, project, workspaces.mirror, remote)
    tracker = TRACKERS[project.tracker](parts)
    return Project(
        name=project.name,
        tracker=tracker,
        board=tracker if isinstance(tracker, Board) else None,
        forge=FORGES[project.forge](parts),
        workspaces=workspaces,
        policy=policy_for(project, settings),
        by_hand=_ByHand(project.name, settings, agent),
        claim=claim,
    )


def workspaces_of(settings: Settings, project: ProjectSettings, secrets: "Secrets") -> "GitWorkspaces":
    from bot.publish_guard.protected_paths import Rules
    from bot.workspace.workspaces import GitWorkspaces

    rules = Rules(project.protected, settings.limits.changed_files, settings.limits.changed_mb)
    return GitWorkspaces(settings.state_dir, project.name, rules=rules, secrets=secrets)


@asynccontextmanager
async def tracker_on_service(
    settings: Settings, project: ProjectSettings
) -> AsyncIterator["GitHubTracker | LinearTracker"]:
    """For what somebody types here: it becomes a comment there, marked as theirs, or an issue."""
    from bot.services.registry import linear_tracker

    if project.tracker == "linear":
        async with on_linear(settings, Connections(), as_daemon=False) as scopes:
            yield linear_tracker(scopes[project.name])
        return
    from bot.services.github.tracker import GitHubTracker

    async with on_github(settings) as there:
        yield GitHubTracker(there.repositories[project.name])


async def inspect_github(settings: Settings, project: ProjectSettings, *, fix: bool) -> Sequence[tuple[str, bool, str]]:
    """What `treehand check` says of a repository: name, whether it is well, and what is wrong with it."""
    import asyncio

    from bot.services.registry import github_forge

    labels = (settings.label, *sorted(phase_labels(settings.label)))
    async with on_github(settings) as there:
        repository = there.repositories[project.name]
        if fix:
            await repository.inspecting.create_labels(labels)
        found = await repository.inspecting.inspect(labels)
        if not settings.limits.claim_seconds or not all(ok for _, ok, _ in found):
            return found
        remote = await github_forge(project, settings, repository).remote(anew=False)
    with TemporaryDirectory() as folder:
        holder = holder_in_words(settings, await asyncio.to_thread(claim_at, remote, Path(folder)))
    return [*found, ("claim", True, holder or "held by nobody at the moment")]


async def remote_of(settings: Settings, project: ProjectSettings) -> "Remote":
    """Where a project's code is, with a credential that is good right now."""
    from bot.services.registry import FORGES, Parts, Services

    desk = desk_of(settings)
    try:
        async with on_github(settings) as there:
            return await FORGES[project.forge](Parts(project, settings, desk, Services(there, {}))).remote()
    finally:
        desk.close()


def _agent(settings: Settings, model: Mapping[str, str]) -> "ClaudeAgent":
    return _agent_in(sandbox_of(settings, model), settings)


def _agent_in(sandbox: "Sandbox", settings: Settings) -> "ClaudeAgent":
    from bot.agents.claude import ClaudeAgent  # its SDK takes the better part of a second to import

    return ClaudeAgent(settings.state_dir / "agent", sandbox=sandbox, clock=clock.now)


def _homes(settings: Settings) -> Path:
    return settings.state_dir / "homes"


@dataclass(frozen=True, slots=True)
class _ByHand:
    """One project's conversations, for people to go on with."""

    project: str
    settings: Settings
    agent: "ClaudeAgent"

    async def __call__(self, branch: str, session: str, *, again: bool) -> str:
        if not again:
            await give_to_us(self.folder(branch), Places(self.settings.state_dir, self.project).of(branch).shadow)
            await self.agent.hand_over(self._home(branch), session)
        return self.command(branch, session)

    def command(self, branch: str, session: str) -> str:
        return self.agent.by_hand(folder=self.folder(branch), home=self._home(branch), session=session)

    def folder(self, branch: str) -> Path:
        return Places(self.settings.state_dir, self.project).of(branch).folder

    def _home(self, branch: str) -> Path:
        return home_for(_homes(self.settings), self.project, branch)


def by_hand(settings: Settings, run: Run) -> tuple[Path, str]:
    """Where a run's worktree is, and what a person types there to go on with its agent's conversation."""
    branch, there = branch_for(run), _ByHand(run.project, settings, _agent(settings, {}))
    return there.folder(branch), there.command(branch, run.session)
