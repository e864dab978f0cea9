"""Wires the daemon: settings in, a running engine out."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from bot.agents.build import build_agent
from bot.agents.claude.agent import ClaudeAgent
from bot.control.takeover import RunHandover, homes_of
from bot.engine.build import CapacityReader, SpentToday, policy_for
from bot.engine.loop import Engine
from bot.engine.run_turn import TurnRunner
from bot.errors import BadSettings
from bot.evidence.build import build_collector
from bot.executors.local import LocalExecutor
from bot.maintenance.build import build_pools, change_pools
from bot.maintenance.fill_pools import PoolFiller
from bot.maintenance.sweep import Maintenance, RunLeftovers
from bot.ports import IssueStates, Ports, Project
from bot.sandbox.build import build_sandbox, change_sandbox_rules, ensure_sandbox_holds
from bot.sandbox.interface import Sandbox
from bot.secret_scan.build import load_secrets
from bot.secret_scan.scanner import Secrets
from bot.services.interface import ServiceConnection
from bot.services.registry import open_services
from bot.settings.live import SettingsChange, compare_settings
from bot.settings.schema import ProjectSettings, Settings
from bot.setup.build import build_setup, overrides_of, setup_resources
from bot.setup.prepare import ProjectSetup
from bot.status.build_notifier import notification_preferences
from bot.status.health_monitor import HealthMonitor, open_monitor
from bot.store.build import open_transcripts, own_store
from bot.store.runs import RunStore
from bot.store.transcripts import Transcripts
from bot.system import clock
from bot.system.disk import Disk
from bot.system.logs import set_level
from bot.workspace.build import build_workspaces, publish_rules
from bot.workspace.step_events import report_git
from bot.workspace.workspaces import GitWorkspaces

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    settings: Settings
    store: RunStore
    transcripts: Transcripts
    ports: Ports
    agent: ClaudeAgent
    executor: LocalExecutor
    engine: Engine
    woken: asyncio.Event
    maintenance: Maintenance
    monitor: HealthMonitor
    change_parts: Callable[[], None]
    """Makes all parts that were built from the settings follow those that are there now."""

    async def ensure_usable(self, file: Settings) -> None:
        """Tests the sandbox with the settings of the file, if they change it. Raises BadSettings or CannotStart."""
        changed = compare_settings(self.settings, file).settings
        if changed.sandbox != self.settings.sandbox:
            await ensure_sandbox_holds(changed)

    def take_over(self, file: Settings) -> SettingsChange:
        """Takes over what may change in a running daemon. Call it between two ticks.

        What reads the settings when it needs them reads the new ones; what was built from them is changed. Turns,
        setups and tests that are running end with what they began with.
        """
        change = compare_settings(self.settings, file)
        if change.applied:
            self.settings.take_over(change.settings)
            self.change_parts()
        return change

    async def recover(self) -> None:
        """Clean up after an earlier process, before anything new is done."""
        ended = await self.agent.sweep()
        log.info("daemon starting projects=%s orphans_ended=%d", ",".join(self.ports.projects), ended)
        await ensure_sandbox_holds(self.settings)
        await self.maintenance.pools.clear()
        await self.maintenance.sweep()

    async def release_leases(self) -> None:
        for project in self.ports.projects.values():
            if project.lease:
                await project.lease.release()


def build_offline_agent(settings: Settings) -> ClaudeAgent:
    """An agent that reaches no model, for commands that run no turn."""
    return build_agent(settings, build_sandbox(settings, {}))


@asynccontextmanager
async def open_app(settings: Settings, model: Mapping[str, str], secrets: Secrets | None = None) -> AsyncIterator[App]:
    """`model`: environment that leads agents to their model. `secrets`: those that the log redacts already."""
    if not settings.projects:
        raise BadSettings("No [[projects]] are set, so there is nothing to do. `treehand init` writes one.")
    secrets = secrets or load_secrets(settings)
    store, transcripts = own_store(settings, secrets.redact), open_transcripts(settings, secrets.redact)
    woken, sandbox = asyncio.Event(), build_sandbox(settings, model, SpentToday(store))
    agent = build_agent(settings, sandbox)
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, secrets))
        parts = _ProjectParts(settings, secrets, services, agent, sandbox)
        workspaces = {one.name: build_workspaces(settings, one, secrets) for one in settings.projects}
        setups = {one.name: parts.setup(one, workspaces[one.name]) for one in settings.projects}
        projects = {one.name: parts.project(one, workspaces[one.name], setups[one.name]) for one in settings.projects}
        runner = TurnRunner(projects.__getitem__, agent, homes_of(settings), secrets.find_any, report_git)
        executor = await stack.enter_async_context(
            LocalExecutor(runner, turn_store=store, on_change=woken.set, transcript=transcripts.append, clock=clock.now)
        )
        ports, disk = Ports(projects, executor, store), Disk(settings.state_dir, settings.limits.free_disk_gb)
        capacity = CapacityReader(settings, store, disk)
        async with Engine(ports, clock=clock.now, capacity=capacity, on_change=woken.set) as engine:
            pools = build_pools(settings, projects, workspaces, setups, disk)
            maintenance = Maintenance(
                settings.state_dir, store, RunLeftovers(settings.state_dir, transcripts), projects, workspaces, pools,
                disk, lambda: engine.unseen_projects, engine.may_maintain, agent.forget,
            )  # fmt: skip
            counts = {name: one.request_counts for name, one in services.items() if one.request_counts is not None}
            monitor = stack.enter_context(open_monitor(settings, store, secrets.redact, counts, sandbox.model_answers))
            live = _LiveParts(parts, projects, workspaces, setups, pools, disk, monitor)
            yield App(
                settings, store, transcripts, ports, agent, executor, engine, woken, maintenance, monitor, live.change
            )
    for close in (transcripts.flush, store.close):
        close()


@dataclass(frozen=True, slots=True)
class _ProjectParts:
    """Shared parts of all projects."""

    settings: Settings
    secrets: Secrets
    services: Mapping[str, ServiceConnection]
    agent: ClaudeAgent
    sandbox: Sandbox

    def setup(self, project: ProjectSettings, workspaces: GitWorkspaces) -> ProjectSetup:
        return build_setup(self.settings, project, workspaces, self.sandbox, self.secrets)

    def project(self, project: ProjectSettings, workspaces: GitWorkspaces, setup: ProjectSetup) -> Project:
        tracker, forge = self.services[project.tracker].tracker(project), self.services[project.forge]
        return Project(
            name=project.name,
            tracker=tracker,
            issue_states=tracker if isinstance(tracker, IssueStates) else None,
            forge=forge.forge(project),
            workspaces=workspaces,
            policy=policy_for(project, self.settings),
            hand_over=RunHandover(project.name, self.settings, self.agent),
            lease=forge.lease(project, workspaces.mirror),
            setup=setup,
            collect_evidence=build_collector(self.settings, self.secrets).collect,
            find_secrets=self.secrets.find,
        )


@dataclass(frozen=True, slots=True)
class _LiveParts:
    """Parts of a running daemon that were built from the settings."""

    shared: _ProjectParts
    projects: dict[str, Project]
    """Also the engine's own: a change counts for its next step."""
    workspaces: Mapping[str, GitWorkspaces]
    setups: Mapping[str, ProjectSetup]
    pools: PoolFiller
    disk: Disk
    monitor: HealthMonitor

    def change(self) -> None:
        settings, sandbox, secrets = self.shared.settings, self.shared.sandbox, self.shared.secrets
        change_sandbox_rules(sandbox, settings)
        for one in settings.projects:
            self.workspaces[one.name].change_rules(publish_rules(settings, one))
            self.setups[one.name].change(overrides_of(one), setup_resources(settings, one, sandbox, secrets))
            self.projects[one.name] = replace(self.projects[one.name], policy=policy_for(one, settings))
        change_pools(self.pools, settings)
        self.disk.require(settings.limits.free_disk_gb)
        self.monitor.notifier.preferences = notification_preferences(settings)
        set_level(settings.log.level)
