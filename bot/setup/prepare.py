"""Prepares a project's worktrees: copies files and runs the setup commands, once for each state of the lock files.

Rules: commands reach the network only in a worktree that was made just now and equals its base, or whose content a
person has approved. Only a setup of merged commits writes to the download cache that all runs share. A run whose agent
has changed what setup reads has a cache of its own, which is removed with it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from bot.domain.change import Change
from bot.domain.setup_plan import SetupObstacle, SetupPlan, SetupResult
from bot.domain.turn import Workspace
from bot.domain.verification import Verification
from bot.errors import BotError, NeedsHuman
from bot.git.commit_files import CommitFiles
from bot.git.in_thread import in_thread
from bot.ports import EventSink
from bot.secret_scan.env_files import secrets_in
from bot.setup.copy_files import INCLUDE_FILE, CopySource, copy_into
from bot.setup.environment import cache_variables, setup_variables, worktree_variables
from bot.setup.failure_advice import explain_missing_versions
from bot.setup.layers import SharedLayers
from bot.setup.plan import SetupOverrides, plan_setup
from bot.setup.progress import report_progress
from bot.setup.provide_versions import provide_versions
from bot.setup.repository_files import RepositoryFiles
from bot.setup.resources import SetupResources
from bot.setup.run_command import SetupCommand
from bot.setup.run_server import end_servers
from bot.setup.run_steps import SetupJob, SetupScope, StepRunner, fingerprint, has_conflict_markers
from bot.setup.services.choose import choose
from bot.setup.setup_queue import SetupQueue
from bot.setup.start_services import ensure_services
from bot.setup.teardown import run_teardown
from bot.setup.verify import SetupActions, Verifier
from bot.workspace.rebuild import RebuiltWorktree
from bot.workspace.safe_files import read_within
from bot.workspace.setup_access import SetupAccess
from bot.workspace.setup_record import SetupRecord, WorktreeState

log = logging.getLogger(__name__)

_MAX_REMEMBERED = 4
"""Commits whose plan is remembered: in a large repository, planning takes a while."""
_SetupSource = tuple[SetupPlan, frozenset[str], str]
"""Setup plan, names of the tracked files, and content of `.worktreeinclude`."""


class ProjectSetup:
    def __init__(self, access: SetupAccess, overrides: SetupOverrides, resources: SetupResources) -> None:
        self._access = access
        self._overrides = overrides
        self._resources = resources
        self._queue = SetupQueue()
        self._steps = StepRunner(access, resources, self._queue)
        self._layers = SharedLayers(access, resources)
        self._sources: dict[str, _SetupSource] = {}

    def change(self, overrides: SetupOverrides, resources: SetupResources) -> None:
        """Takes over changed settings. A setup that is running ends with those that it began with."""
        self._overrides, self._resources = overrides, resources
        self._steps = StepRunner(self._access, resources, self._queue)
        self._sources.clear()
        self.learn_secrets()

    async def ensure(
        self, workspace: Workspace, turn_id: str, emit: EventSink, allowed: Collection[str] = ()
    ) -> SetupResult:
        try:
            await end_servers(self._resources.marker_prefix, workspace.branch)
            await self._access.end_serving(workspace.branch)
            plan, tracked, included = await self._source_for(workspace.base)
            workspace = await self._with_toolchains(workspace, plan, emit)
            workspace = await self._with_services(workspace, plan)
            record = await self._access.get_record(workspace.branch)
            job = await self._make_job(workspace, plan, turn_id, emit, avoid_taken_ports=record.is_ahead)
            if _is_new(workspace, record):
                await self._copy(workspace, plan, tracked, included)
                if await self._share(job):
                    return await self._mark_used(job.branch, self._result(job))
            if rebuilt := await self._rebuild(job, record):
                workspace = replace(workspace, base=rebuilt.base)
                job = replace(job, workspace=workspace, work=rebuilt.work, content=rebuilt.work)
            job = replace(job, allowed=allowed)
            await self._copy(workspace, plan, tracked, included)
            return await self._mark_used(job.branch, await self._ensure(job))
        except NeedsHuman as problem:
            return SetupResult(obstacle=SetupObstacle(str(problem)))

    async def repeat(
        self, fresh: Workspace, turn_id: str, emit: EventSink, allowed: Collection[str] = ()
    ) -> SetupResult:
        """Repeats setup in a temporary worktree, which was set up on its base, for the work that is there now."""
        plan = (await self._source_for(fresh.base))[0]
        stamp = (await self._access.get_record(fresh.branch)).stamp
        fresh = await self._with_toolchains(fresh, plan, emit)
        fresh = await self._with_services(fresh, plan)
        job = replace(await self._make_job(fresh, plan, turn_id, emit), allowed=allowed, content=fresh.head)
        repeated = await self._steps.run_on_work(job, stamp)
        return replace(self._result(job), obstacle=repeated.obstacle, repeated=repeated.how)

    async def prepare(self, workspace: Workspace) -> SetupResult | None:
        """Prepares a worktree of the pool, without copied files. Returns None if it gave way to a run."""
        try:
            plan = (await self._source_for(workspace.base))[0]
            workspace = await self._with_toolchains(workspace, plan, lambda _: None)
            workspace = await self._with_services(workspace, plan)
            job = await self._make_job(workspace, plan, workspace.branch, lambda _: None)
            if await self._share(job):
                return self._result(job)
            async with self._queue.give_way():
                return await self._ensure(replace(job, is_ahead=True))
        except NeedsHuman as problem:
            return SetupResult(obstacle=SetupObstacle(str(problem)))
        except TimeoutError:
            return None

    async def is_current(self, branch: str, commit: str) -> bool:
        """Returns True if a worktree prepared for another commit, now with the files of this one, needs no setup."""
        plan = (await self._source_for(commit))[0]
        record, folder = await self._access.get_record(branch), self._access.folder(branch)
        wanted = await in_thread(fingerprint, plan.steps, folder) if plan.steps else ""
        chosen = await in_thread(self._resources.toolchains.choose, plan)
        mounts = self._access.mounts(branch)
        if record.toolchains != tuple(map(str, chosen.folders)) or not await self._layers.is_there(mounts):
            return False
        return record.stamp == wanted and not record.made and all(step.locks for step in plan.steps)

    async def _make_job(
        self, workspace: Workspace, plan: SetupPlan, turn_id: str, emit: EventSink, *, avoid_taken_ports: bool = False
    ) -> SetupJob:
        ports = await in_thread(self._resources.port_blocks.allocate, workspace.path, avoid_taken=avoid_taken_ports)
        marker = f"{self._resources.marker_prefix}:{turn_id}/setup"
        services = workspace.mounts.services
        variables = {**worktree_variables(workspace.path.name, ports), **(services.variables if services else {})}
        return SetupJob(workspace, plan, variables, marker, emit)

    async def _with_services(self, workspace: Workspace, plan: SetupPlan) -> Workspace:
        """Raises NeedsHuman if one is missing that the settings name."""
        chosen = await in_thread(choose, self._resources.servers, plan)
        if chosen.missing:
            missing = "; ".join(chosen.missing)
            raise NeedsHuman(f"The worktree was not set up, and nothing was spent: the project {missing}.")
        data = self._resources.service_data(workspace.path)
        return replace(workspace, mounts=replace(workspace.mounts, services=chosen.mounts(data, plan.addresses)))

    async def _with_toolchains(self, workspace: Workspace, plan: SetupPlan, emit: EventSink) -> Workspace:
        """Keeps what the last setup was run with, if that still counts. Raises NeedsHuman if a version is missing."""
        record = await self._access.get_record(workspace.branch)
        folders = tuple(map(Path, record.toolchains))
        is_there = all(folder.is_dir() for folder in folders) and await self._layers.is_there(workspace.mounts)
        if not (is_there and record.stamp and record.stamp == await in_thread(fingerprint, plan.steps, workspace.path)):
            chosen = await provide_versions(plan, self._resources, emit)
            # people who name their own commands, or none, know what those need
            if chosen.missing and any(step.tools for step in plan.steps):
                raise NeedsHuman(explain_missing_versions(chosen.missing))
            folders = chosen.folders
            stamp, is_used = record.stamp if is_there else "", _is_used(record)
            renewed = replace(record, toolchains=tuple(map(str, folders)), stamp=stamp, is_used=is_used)
            if renewed != record:
                await self._access.save_record(workspace.branch, renewed)
        return replace(workspace, mounts=replace(workspace.mounts, toolchains=folders))

    async def verify(
        self, workspace: Workspace, change: Change, turn_id: str, emit: EventSink, allowed: Collection[str] = ()
    ) -> Verification | None:
        plan = (await self._source_for(change.base))[0]
        actions = SetupActions(self.ensure, partial(self.repeat, allowed=allowed), self.release)
        chosen = await in_thread(choose, self._resources.servers, plan)
        services = [program.title for _, program in chosen.started]
        verifier = Verifier(self._access, self._resources, plan, actions, services)
        return await verifier.verify(workspace, change, turn_id, emit) if plan.checks else None

    async def tear_down(self, branch: str) -> None:
        folder = self._access.folder(branch)
        await end_servers(self._resources.marker_prefix, branch)
        try:
            await self._run_teardown(branch)
        except (BotError, OSError) as problem:
            log.warning("teardown failed branch=%s: %s", branch, problem)
        await asyncio.to_thread(self.release, folder)

    def learn_secrets(self) -> None:
        """Registers the secrets in files that were copied by an earlier process, or will be."""
        source, names = self._overrides.copy_from, set(self._overrides.copy)
        for name in names | self._access.copied_files() if source else ():
            with contextlib.suppress(OSError):
                self._learn_secrets_of({name: read_within(source, name)} if source else {})

    async def _source_for(self, commit: str) -> _SetupSource:
        """Cached, because the files of a commit never change."""
        if commit not in self._sources:
            newest = list(self._sources.items())[1 - _MAX_REMEMBERED :]
            self._sources = {**dict(newest), commit: await self._access.read_commit(commit, self._read_source)}
        return self._sources[commit]

    def _read_source(self, committed: CommitFiles) -> _SetupSource:
        files = RepositoryFiles(committed.names, committed.read)
        return plan_setup(files, self._overrides), files.names, files.text(INCLUDE_FILE)

    async def _copy(self, workspace: Workspace, plan: SetupPlan, tracked: frozenset[str], included: str) -> None:
        files: Mapping[str, bytes] = {}
        if self._overrides.copy_from is not None:
            source = CopySource(self._overrides.copy_from, tracked)
            files = await in_thread(source.find, plan.copy, included if self._overrides.is_repository else "")
        self._learn_secrets_of(files)
        record = await self._access.get_record(workspace.branch)
        copied = await in_thread(copy_into, files, workspace.path, record.copied, overwrite=record.is_ahead)
        if copied != record.copied or record.is_ahead:
            await self._access.save_record(workspace.branch, replace(record, copied=copied, is_ahead=False))

    def _learn_secrets_of(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            for name, value in secrets_in(path, content.decode(errors="replace")):
                self._resources.secrets.keep(name, value)

    async def _rebuild(self, job: SetupJob, record: SetupRecord) -> RebuiltWorktree | None:
        """Rebuilds the worktree on its base if setup is due and it holds or held more than that."""
        is_due = bool(job.plan.steps) and record.stamp != await in_thread(
            fingerprint, job.plan.steps, job.workspace.path
        )
        is_base = not _is_used(record) and job.workspace.head == job.workspace.base
        if not is_due or (is_base and (await self._access.survey(job.branch)).is_clean):
            return None
        return await self._access.rebuild_on_base(job.branch)

    async def _mark_used(self, branch: str, ready: SetupResult) -> SetupResult:
        """An agent works in it next."""
        record = await self._access.get_record(branch)
        if not (ready.obstacle or record.is_used):
            await self._access.save_record(branch, replace(record, is_used=True))
        return ready

    async def _share(self, job: SetupJob) -> bool:
        """Shows the dependencies of an earlier worktree beneath one in which nothing has run. Runs nothing itself."""
        record = await self._access.get_record(job.branch)
        names = await self._layers.find_names(job, record) if job.plan.steps else None
        if not names or not await self._layers.put_beneath(job, names):
            return False
        makes = dict.fromkeys(one for step in job.plan.steps for one in step.makes)
        toolchains = tuple(map(str, job.mounts.toolchains))
        stamp = await in_thread(fingerprint, job.plan.steps, job.workspace.path)
        await self._access.save_record(
            job.branch, replace(record, stamp=stamp, folders=tuple(makes), toolchains=toolchains)
        )
        return True

    async def _ensure(self, job: SetupJob) -> SetupResult:
        steps, folder = job.plan.steps, job.workspace.path
        if not steps:
            result = SetupResult(job.variables, toolchains=job.mounts.toolchains, services=job.mounts.services)
            return replace(result, obstacle=await self._start_services(job))
        record = await self._access.get_record(job.branch)
        if record.stamp != await in_thread(fingerprint, steps, folder):
            # a rebuilt worktree is whole at the end
            obstacle = await self._set_up(job, replace(record, is_half=record.is_half and not job.work))
            if obstacle:
                return SetupResult(obstacle=obstacle)
            return self._result(job)
        return replace(self._result(job), obstacle=await self._start_services(job))

    async def _start_services(self, job: SetupJob) -> SetupObstacle | None:
        return await ensure_services(job.mounts, self._resources, job.marker, is_fresh=False)

    def _result(self, job: SetupJob) -> SetupResult:
        run_cache = self._resources.run_cache(job.workspace.path)
        cache = run_cache if run_cache.is_dir() else self._resources.shared_cache
        done = tuple(f"{step.command}  (in {step.folder}/)" if step.folder else step.command for step in job.plan.steps)
        variables = {**job.variables, **cache_variables(cache)}
        mounts = job.mounts
        return SetupResult(
            variables,
            cache if cache.is_dir() else None,
            done,
            toolchains=mounts.toolchains,
            services=mounts.services,
        )

    async def _set_up(self, job: SetupJob, record: SetupRecord) -> SetupObstacle | None:
        """However it is interrupted, it leaves no files that could be taken for an agent's work."""
        makes = dict.fromkeys((*record.folders, *(one for step in job.plan.steps for one in step.makes)))
        record = replace(record, folders=tuple(makes), toolchains=tuple(map(str, job.mounts.toolchains)))
        await self._access.save_record(job.branch, record)
        before = await self._access.survey(job.branch)
        may_discard = before.is_clean or bool(job.work)
        await self._access.save_record(job.branch, replace(record, is_half=may_discard))
        obstacle: SetupObstacle | None = SetupObstacle("was interrupted")
        try:
            is_base = bool(job.work) or (
                before.is_clean and not _is_used(record) and job.workspace.head == job.workspace.base
            )
            with report_progress(job.emit, self._resources.clock, "setup", "setup", "Setting up the worktree"):
                stamp, is_current = record.stamp, True
                failed = await self._run_on_base(job, record) if is_base else None
                if job.work and not failed:
                    stamp = await in_thread(fingerprint, job.plan.steps, job.workspace.path)
                    before = await self._access.put_work_back(job.branch, job.workspace.base, job.work)
                if (job.work or not is_base) and not failed:
                    is_current, failed = await self._run_on_work(job, stamp)
                obstacle = failed
        finally:
            if obstacle and may_discard:
                await self._access.discard(job.branch)
            else:
                await self._note(job, record, before, is_done=not obstacle and is_current)
        return obstacle

    async def _run_on_base(self, job: SetupJob, record: SetupRecord) -> SetupObstacle | None:
        """Uses what an earlier setup has made of the same files."""
        names = await self._layers.find_names(job, record)
        if names and await self._layers.put_beneath(job, names):
            return None
        if any("submodule" in step.command for step in job.plan.steps):
            await self._access.empty_submodules(job.branch)
        obstacle = await self._steps.run(job, SetupScope.BASE)
        if names and not obstacle:
            await self._layers.make(job, names, record)
        return obstacle

    async def _run_on_work(self, job: SetupJob, stamp: str) -> tuple[bool, SetupObstacle | None]:
        """Returns False if the setup does not count, because conflicts are pending.

        Then the agent works in the environment that is there, and setup is repeated when the conflicts are resolved.
        """
        is_merging = bool(job.workspace.conflicts)
        if is_merging and await in_thread(has_conflict_markers, job.plan.steps, job.workspace.path):
            return False, None
        obstacle = (await self._steps.run_on_work(job, stamp)).obstacle
        return not (is_merging and obstacle), None if is_merging else obstacle

    async def _note(self, job: SetupJob, record: SetupRecord, before: WorktreeState, *, is_done: bool) -> None:
        await self._access.save_record(job.branch, record)
        if before.is_clean:
            await self._access.accept_submodules(job.branch)
        after = await self._access.survey(job.branch)
        stamp = await in_thread(fingerprint, job.plan.steps, job.workspace.path) if is_done else ""
        made = record.with_made(before.entries, after.entries, before.committed)
        await self._access.save_record(job.branch, replace(made, stamp=stamp))

    async def _run_teardown(self, branch: str) -> None:
        base = await self._access.base_of(branch)
        plan = (await self._source_for(base))[0] if base else SetupPlan()
        if not plan.teardown:
            return
        record = await self._access.get_record(branch)
        mounts = replace(self._access.mounts(branch), toolchains=tuple(map(Path, record.toolchains)))
        ports = await in_thread(self._resources.port_blocks.allocate, mounts.folder)
        variables = worktree_variables(mounts.folder.name, ports)
        marker = f"{self._resources.marker_prefix}:{branch}/teardown"
        async with self._steps.open_sandbox(mounts, marker, SetupScope.WORK) as (sandbox, cache):
            environment = {**variables, **setup_variables(cache, sandbox.environment)}
            commands = [SetupCommand(text, mounts.folder, environment, marker) for text in plan.teardown]
            async for outcome in run_teardown(commands, sandbox):
                printed = self._resources.secrets.redact(outcome.output)
                log.warning("teardown failed branch=%s code=%s: %s", branch, outcome.code, printed)

    def release(self, folder: Path) -> None:
        """Releases the ports of a removed worktree, and removes its caches."""
        with contextlib.suppress(OSError):
            self._resources.port_blocks.release(folder)
        resources = self._resources
        for gone in (resources.run_cache, resources.service_data, *resources.trial_folders):
            resources.discard(gone(folder))


def _is_new(workspace: Workspace, record: SetupRecord) -> bool:
    """Holds the base, and no agent and no setup has been in it."""
    return not (_is_used(record) or workspace.conflicts) and workspace.head == workspace.base


def _is_used(record: SetupRecord) -> bool:
    """Records of versions without `is_used` count as used if they have a stamp."""
    return record.is_used or bool(record.stamp)
