"""The composition root: settings in, a wired engine out. The only importer of adapters.

Rule: what only the daemon needs is imported where it is wired: `treehand status` must not wait for it.
"""

import logging
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot import clock
from bot.confining import ensure_confined, give_to_us, sandbox_of
from bot.credentials import github_app_key, github_token, known_secrets, marker_secret
from bot.domain.run import Run
from bot.embedded.desk import Desk, Site
from bot.engine.names import branch_for, home_for, phase_labels
from bot.errors import BadSettings, Retryable
from bot.settings import ProjectSettings, Settings
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.workspace.places import Places

if TYPE_CHECKING:
    import asyncio

    from bot.agents.claude import ClaudeAgent
    from bot.clients.github.auth import Credential
    from bot.clients.github.looking import Repository
    from bot.domain.leaks import Secrets
    from bot.domain.policy import Policy
    from bot.engine.loop import Engine
    from bot.engine.schedule import Capacity
    from bot.executors.local import LocalExecutor
    from bot.ports import Forge, Outside, Project, Remote, Tracker
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

    async def recover(self) -> None:
        """What an earlier life left behind is put right before anything new is done."""
        ended = await self.agent.sweep()
        log.info("starting projects=%s orphans_ended=%d", ",".join(self.outside.projects), ended)
        await ensure_confined(self.settings)
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
    local = (project for project in settings.projects if "local" in {project.tracker, project.forge})
    sites = {project.name: Site(project.folder, project.base) for project in local}
    return Desk(settings.state_dir, sites, clock.now)


def store_of(settings: Settings, redact: Callable[[str], str] = str) -> RunStore:
    return RunStore.open(settings.state_dir / "treehand.db", redact)


def transcripts_of(settings: Settings, redact: Callable[[str], str] = str) -> Transcripts:
    return Transcripts(settings.state_dir / "transcripts", redact)


def secrets_of(settings: Settings) -> "Secrets":
    """What must never leave: all that is known now; more is learned as tokens are made."""
    from bot.domain.leaks import Secrets

    return Secrets(known_secrets(settings))


@asynccontextmanager
async def wired(settings: Settings, model: Mapping[str, str], secrets: "Secrets | None" = None) -> AsyncIterator[App]:
    """Everything the daemon needs. `model` is how agents reach their model; `secrets` are those the logs know of."""
    import asyncio

    from bot.engine.loop import Engine
    from bot.engine.turn import TurnTaker
    from bot.executors.local import LocalExecutor
    from bot.ports import Outside

    if not settings.projects:
        raise BadSettings("No [[projects]] are set, so there is nothing to do. `treehand init` writes one.")
    secrets = secrets or secrets_of(settings)
    desk, woken = desk_of(settings), asyncio.Event()
    store, transcripts = store_of(settings, secrets.redact), transcripts_of(settings, secrets.redact)
    agent = _agent(settings, model)
    async with AsyncExitStack() as stack:
        repositories = await stack.enter_async_context(_on_github(settings, secrets))
        projects = {
            project.name: _project(project, settings, desk, agent, repositories.get(project.name), secrets)
            for project in settings.projects
        }
        taker = TurnTaker(projects.__getitem__, agent, _homes(settings), secrets.given_away)
        executor = await stack.enter_async_context(
            LocalExecutor(taker, on_change=woken.set, transcript=transcripts.append, clock=clock.now)
        )
        outside = Outside(projects, executor, store)
        capacity = _Gauge(settings, store)
        async with Engine(outside, clock=clock.now, capacity=capacity, on_change=woken.set) as engine:
            yield App(settings, store, transcripts, outside, agent, executor, engine, woken)
    transcripts.flush()
    store.close()
    desk.close()


@asynccontextmanager
async def _on_github(settings: Settings, secrets: "Secrets | None" = None) -> AsyncIterator[Mapping[str, "Repository"]]:
    """The repository of every project that has one there, by the project's name."""
    there = [project for project in settings.projects if "github" in {project.tracker, project.forge}]
    if not there:
        yield {}
        return
    from bot.clients.github.looking import Repository, Rules
    from bot.clients.github.memory import open_memory
    from bot.clients.github.session import GitHub

    secret, memory = marker_secret(settings.state_dir), open_memory(settings.state_dir / "github.db")
    async with GitHub(settings.github.api_url, _github_credential(settings, secrets), memory) as service:
        yield {
            project.name: Repository(
                service, project.repository, memory, rules=Rules(settings.label, project.trusted), secret=secret
            )
            for project in there
        }
    memory.close()


def _github_credential(settings: Settings, secrets: "Secrets | None") -> "Credential":
    from bot.clients.github.auth import AppCredential, TokenCredential

    if key := github_app_key(settings):
        learn = partial(secrets.learn, "a token of the GitHub App") if secrets else lambda _: None
        return AppCredential(settings.github.app_id, key, settings.github.installation_id, learn)
    if token := github_token(settings):
        return TokenCredential(token)
    raise BadSettings("There is no token for GitHub: set GITHUB_TOKEN, github.token_file, or github.app_id for an App.")


def _project(
    project: ProjectSettings,
    settings: Settings,
    desk: Desk,
    agent: "ClaudeAgent",
    repository: "Repository | None",
    secrets: "Secrets",
) -> "Project":
    from bot.ports import Project

    return Project(
        name=project.name,
        tracker=_tracker(project, settings, desk, repository),
        forge=_forge(project, settings, desk, repository),
        workspaces=workspaces_of(settings, project, secrets),
        policy=_policy(project, settings),
        by_hand=_ByHand(project.name, settings, agent),
        leaks_in=secrets.find,
    )


def workspaces_of(settings: Settings, project: ProjectSettings, secrets: "Secrets") -> "GitWorkspaces":
    from bot.domain.protection import Rules
    from bot.workspace.workspaces import GitWorkspaces

    rules = Rules(project.protected, settings.limits.changed_files, settings.limits.changed_mb)
    return GitWorkspaces(settings.state_dir, project.name, rules=rules, secrets=secrets)


def _tracker(project: ProjectSettings, settings: Settings, desk: Desk, repository: "Repository | None") -> "Tracker":
    if project.tracker == "github" and repository:
        from bot.trackers.github import GitHubTracker

        return GitHubTracker(repository)
    from bot.trackers.local import LocalTracker

    return LocalTracker(desk, project.name, label=settings.label)


def _forge(project: ProjectSettings, settings: Settings, desk: Desk, repository: "Repository | None") -> "Forge":
    if project.forge == "github" and repository:
        from bot.forges.github import GitHubForge

        return GitHubForge(repository, api_url=settings.github.api_url, remote=project.remote)
    from bot.forges.local import LocalForge

    return LocalForge(desk, project.name)


async def speak_on_github(settings: Settings, project: ProjectSettings, key: str, person: str, text: str) -> None:
    """What somebody types here becomes a comment there, marked as theirs."""
    from bot.trackers.github import GitHubTracker

    async with _on_github(settings) as repositories:
        await GitHubTracker(repositories[project.name]).speak_for(key, person, text)


async def inspect_github(settings: Settings, project: ProjectSettings, *, fix: bool) -> Sequence[tuple[str, bool, str]]:
    """What `treehand check` says of a repository: name, whether it is well, and what is wrong with it."""
    labels = (settings.label, *sorted(phase_labels(settings.label)))
    async with _on_github(settings) as repositories:
        inspecting = repositories[project.name].inspecting
        if fix:
            await inspecting.create_labels(labels)
        return await inspecting.inspect(labels)


async def remote_of(settings: Settings, project: ProjectSettings) -> "Remote":
    """Where a project's code is, with a credential that is good right now."""
    desk = desk_of(settings)
    try:
        async with _on_github(settings) as repositories:
            return await _forge(project, settings, desk, repositories.get(project.name)).remote()
    finally:
        desk.close()


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
        ci_fixes=limits.ci_fixes,
        quiet_seconds=limits.quiet_seconds,
        per_issue_usd=budget.per_issue_usd,
        per_issue_tokens=budget.per_issue_tokens,
        per_day_usd=budget.per_day_usd,
        sandboxed=settings.sandbox.kind != "none",
    )


def _agent(settings: Settings, model: Mapping[str, str]) -> "ClaudeAgent":
    from bot.agents.claude import ClaudeAgent  # its SDK takes the better part of a second to import

    return ClaudeAgent(settings.state_dir / "agent", sandbox=sandbox_of(settings, model), clock=clock.now)


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
