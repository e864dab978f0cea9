"""Runs the setup steps in a worktree: with network on what people have merged or approved, else without.

Rule: whatever setup runs of an agent's reaches nothing, unless a person has approved exactly that content.
"""

import asyncio
import contextlib
import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path

from bot.domain.change import Objection
from bot.domain.serialize import as_record
from bot.domain.setup_plan import SetupObstacle, SetupPlan, SetupStep
from bot.domain.turn import Workspace, WorktreeMounts
from bot.errors import NeedsHuman
from bot.git.in_thread import in_thread
from bot.git.objects import blob_id
from bot.ports import EventSink
from bot.sandbox.interface import CommandSandbox
from bot.setup.download_hosts import hosts_of_tools, refused_hosts
from bot.setup.environment import OFFLINE, setup_variables
from bot.setup.failure_advice import FailedCommand, explain_failure, explain_missing_tools
from bot.setup.progress import report_progress
from bot.setup.resources import SetupResources
from bot.setup.run_command import CommandOutcome, SetupCommand, run_command
from bot.setup.setup_queue import SetupQueue
from bot.setup.start_services import ensure_services
from bot.system.private_files import share_folder
from bot.workspace.safe_files import read_within
from bot.workspace.setup_access import SetupAccess

_CONFLICT_MARK = b"<<<<<<< "


class SetupScope(Enum):
    BASE = auto()
    """Merged commits alone: with network, and with the downloads that all runs share."""
    APPROVED = auto()
    """An agent's work that a person has approved: with network, and with new downloads of its own."""
    WORK = auto()
    """An agent's work: without network."""


@dataclass(frozen=True, slots=True)
class SetupJob:
    """Setup of one worktree."""

    workspace: Workspace
    plan: SetupPlan
    variables: Mapping[str, str]
    marker: str
    emit: EventSink
    allowed: Collection[str] = ()
    """Ids of the objections that a person has approved."""
    work: str = ""
    """The commit with the agent's work, if the worktree was rebuilt on its base; else empty."""
    content: str = ""
    """The commit whose files the steps find; empty if there is none, so that nobody can approve them."""
    is_ahead: bool = False
    """Prepared for the pool: no run waits for it."""

    @property
    def branch(self) -> str:
        return self.workspace.branch

    @property
    def mounts(self) -> WorktreeMounts:
        return self.workspace.mounts


@dataclass(frozen=True, slots=True)
class RepeatedSetup:
    obstacle: SetupObstacle | None = None
    how: str = ""
    """In words; empty if it was not necessary."""


@dataclass(frozen=True, slots=True)
class StepRunner:
    access: SetupAccess
    resources: SetupResources
    queue: SetupQueue

    async def run_on_work(self, job: SetupJob, stamp: str) -> RepeatedSetup:
        """Repeats setup for an agent's work if that changes what setup reads. `stamp`: what it has read before."""
        if stamp == await in_thread(fingerprint, job.plan.steps, job.workspace.path):
            return RepeatedSetup()
        changed = ", ".join(await self._changed_locks(job))
        objection = await self._objection_to(job) if job.content and self.resources.setup_hosts else None
        if objection and objection.id in job.allowed:
            obstacle = await self.run(job, SetupScope.APPROVED)
            return RepeatedSetup(obstacle, f"for the changed {changed}, with network after a person's approval")
        obstacle = await self.run(job, SetupScope.WORK)
        obstacle = replace(obstacle, objection=objection) if obstacle else None
        return RepeatedSetup(obstacle, f"for the changed {changed}, without network")

    async def run(self, job: SetupJob, scope: SetupScope) -> SetupObstacle | None:
        is_fresh = scope is not SetupScope.WORK
        if obstacle := await ensure_services(job.mounts, self.resources, job.marker, is_fresh=is_fresh):
            return obstacle
        async with self.open_sandbox(job.mounts, job.marker, scope, is_ahead=job.is_ahead) as (sandbox, cache):
            clock = asyncio.get_running_loop().time
            end = clock() + self.resources.setup_seconds
            offline, failed = OFFLINE if scope is SetupScope.WORK else {}, None
            for number, step in enumerate(job.plan.steps):
                environment = {**job.variables, **setup_variables(cache, sandbox.environment, step.tools), **offline}
                if missing := [tool for tool in step.tools if not sandbox.has_tool(tool)]:
                    if failed is None:
                        return explain_missing_tools(step, missing)
                    continue
                folder = job.mounts.folder / step.folder
                command = SetupCommand(step.command, folder, environment, job.marker, is_urgent=not job.is_ahead)
                name = f"setup-{number}"
                with report_progress(job.emit, self.resources.clock, "setup", name, f"Setup: {step}"):
                    outcome = await run_command(command, sandbox, seconds=max(end - clock(), 0.0))
                if outcome.code != 0 or sandbox.kill_reason:
                    failed = failed or (step, outcome)
                    if not _may_need_more_hosts(sandbox, scope):
                        break
            return await self._explain(job, *failed, sandbox, scope) if failed else None

    @asynccontextmanager
    async def open_sandbox(
        self, mounts: WorktreeMounts, marker: str, scope: SetupScope, *, is_ahead: bool = False
    ) -> AsyncIterator[tuple[CommandSandbox, Path]]:
        is_base = scope is SetupScope.BASE
        cache = self.resources.shared_cache if is_base else self.resources.run_cache(mounts.folder)
        if scope is SetupScope.APPROVED:  # work that nobody has approved may have left programs there
            await in_thread(self.resources.discard, cache)
            if cache.exists():
                raise NeedsHuman(f"Treehand could not remove {cache}. Approved setup does not run with it: remove it.")
        if not is_base:
            await self._fill_run_cache(cache)
        async with self.queue.exclusively(is_ahead=is_ahead) if is_base else contextlib.nullcontext():
            share_folder(cache)  # agents of other runs read it
            network = scope is not SetupScope.WORK
            async with self.resources.sandbox.open_setup(mounts, cache, marker, network=network) as sandbox:
                yield sandbox, cache

    async def _fill_run_cache(self, cache: Path) -> None:
        """Copies the shared downloads: without network, setup finds nothing else."""
        shared = self.resources.shared_cache
        if cache.exists() or not shared.exists():
            return
        async with self.queue.exclusively(is_ahead=False):
            new = cache.with_name(f"{cache.name}~new")
            await in_thread(self.resources.discard, new)
            await in_thread(shutil.copytree, shared, new, symlinks=True)
            new.rename(cache)

    async def _objection_to(self, job: SetupJob) -> Objection:
        hosts = ", ".join(self.resources.setup_hosts)
        detail = (
            "an agent changed files that setup reads, and setup fails without network. If approved, setup runs the "
            f"agent's code with access to {hosts}"
        )
        tree = await self.access.tree_of(job.content)
        return Objection("setup", ", ".join(await self._changed_locks(job)), detail, tree)

    async def _changed_locks(self, job: SetupJob) -> Sequence[str]:
        changed = await self.access.changed_paths(job.workspace.base, job.content) if job.content else ()
        locks = {lock for step in job.plan.steps for lock in step.locks}
        return [path for path in changed if path in locks]

    async def _explain(
        self, job: SetupJob, step: SetupStep, outcome: CommandOutcome, sandbox: CommandSandbox, scope: SetupScope
    ) -> SetupObstacle:
        resources = self.resources
        of_tools = await in_thread(hosts_of_tools, job.plan.silent, resources.run_tool) if sandbox.refusals else ()
        failure = FailedCommand(
            step,
            outcome,
            sandbox.kill_reason,
            sandbox.refusals if scope is not SetupScope.WORK else (),
            (*job.plan.hosts, *of_tools),
            resources.setup_hosts,
            is_base=scope is SetupScope.BASE,
            changed=await self._changed_locks(job) if scope is SetupScope.WORK else None,
        )
        return explain_failure(failure, resources.secrets.redact(outcome.output), seconds=resources.setup_seconds)


def _may_need_more_hosts(sandbox: CommandSandbox, scope: SetupScope) -> bool:
    """Then the other steps run as well, so that a person is asked once, for the hosts of all of them."""
    return scope is SetupScope.BASE and not sandbox.kill_reason and bool(refused_hosts(sandbox.refusals))


def fingerprint(steps: Sequence[SetupStep], folder: Path) -> str:
    locks = {lock: _sha_of(folder, lock) for step in steps for lock in step.locks}
    return hashlib.sha256(json.dumps([as_record(steps), locks]).encode()).hexdigest()


def has_conflict_markers(steps: Sequence[SetupStep], folder: Path) -> bool:
    """Returns True if a file that setup reads shows both sides of a conflict."""
    for lock in dict.fromkeys(lock for step in steps for lock in step.locks):
        with contextlib.suppress(OSError):
            if any(line.startswith(_CONFLICT_MARK) for line in read_within(folder, lock).splitlines()):
                return True
    return False


def _sha_of(folder: Path, name: str) -> str:
    try:
        return blob_id(read_within(folder, name)).hex()
    except OSError:
        return ""
