"""One project's worktrees, made ready: the port. What was done is kept beside each, so that it is done once.

Rule: downloads are kept for all runs only by a setup of what people have merged; a run whose agent has changed anything
keeps its own, and they go with it.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.change import Change
from bot.domain.serialize import as_record
from bot.domain.setup_plan import Obstacle, Ready, Recipe, Step
from bot.domain.turn import Event, EventKind, Ground, Workspace
from bot.domain.verification import Verification
from bot.errors import BotError, NeedsHuman
from bot.git.commit_files import Committed
from bot.git.in_thread import in_thread
from bot.git.objects import hash_content
from bot.ports import Notice
from bot.sandbox.interface import Bench
from bot.secret_scan.env_files import secrets_in
from bot.setup.copy_files import INCLUDES, Source, put
from bot.setup.download_hosts import hosts_of
from bot.setup.environment import names_for, places_in, while_setting_up
from bot.setup.failure_advice import Attempt, failed, without_tools
from bot.setup.means import Means
from bot.setup.plan import Wishes, recipe_for
from bot.setup.precedence import Precedence
from bot.setup.repository_files import Files
from bot.setup.run_command import Command, Outcome, run
from bot.setup.run_server import marker_for
from bot.setup.verify import Verifier
from bot.system.processes import end_family
from bot.workspace.safe_files import read_within
from bot.workspace.setup_access import Provisioning
from bot.workspace.setup_record import Provision, Survey

log = logging.getLogger(__name__)

TEARDOWN_SECONDS = 60.0

_ANSWERS = 4
"""So many are remembered: in a large repository each takes a while."""
_Answer = tuple[Recipe, frozenset[str], str]
"""What is to be done, the names of what is tracked, and `.worktreeinclude`."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One worktree that is to be made ready."""

    workspace: Workspace
    recipe: Recipe
    names: Mapping[str, str]
    """Its variables."""
    marker: str
    notice: Notice
    is_ahead: bool = False
    """No run waits for it."""

    @property
    def branch(self) -> str:
        return self.workspace.branch

    @property
    def ground(self) -> Ground:
        return self.workspace.ground


class WorktreeReadiness:
    def __init__(self, provisioning: Provisioning, wishes: Wishes, means: Means) -> None:
        self._provisioning = provisioning
        self._wishes = wishes
        self._means = means
        self._precedence = Precedence()
        self._answers: dict[str, _Answer] = {}

    async def ensure(self, workspace: Workspace, turn_id: str, notice: Notice) -> Ready:
        try:
            await self._provisioning.settle(workspace.branch)
            recipe, tracked, included = await self._asked(workspace.base)
            provision = await self._provisioning.get(workspace.branch)
            job = await self._job(workspace, recipe, turn_id, notice, anew=provision.is_ahead)
            await self._copy(workspace, recipe, tracked, included)
            return await self._ensure(job)
        except NeedsHuman as problem:
            return Ready(obstacle=Obstacle(str(problem)))

    async def prepare(self, workspace: Workspace) -> Ready | None:
        """Ahead of any run, without what will be the taker's own. None: it gave way to one."""
        try:
            recipe = (await self._asked(workspace.base))[0]
            job = await self._job(workspace, recipe, workspace.branch, lambda _: None)
            async with self._precedence.behind():
                return await self._ensure(replace(job, is_ahead=True))
        except NeedsHuman as problem:
            return Ready(obstacle=Obstacle(str(problem)))
        except TimeoutError:
            return None

    async def holds(self, branch: str, commit: str) -> bool:
        """What was made ready for another commit, and holds the files of this one now, needs nothing more."""
        recipe = (await self._asked(commit))[0]
        provision, folder = await self._provisioning.get(branch), self._provisioning.folder(branch)
        wanted = await in_thread(_stamp, recipe.steps, folder) if recipe.steps else ""
        return provision.stamp == wanted and not provision.made and all(step.locks for step in recipe.steps)

    async def _job(
        self, workspace: Workspace, recipe: Recipe, turn_id: str, notice: Notice, *, anew: bool = False
    ) -> _Job:
        ports = await in_thread(self._means.blocks.block_for, workspace.path, anew=anew)
        names, marker = names_for(workspace.path.name, ports), f"{self._means.house}:{turn_id}/setup"
        return _Job(workspace, recipe, names, marker, notice)

    async def verify(self, workspace: Workspace, change: Change, turn_id: str, notice: Notice) -> Verification | None:
        recipe = (await self._asked(change.base))[0]
        verifier = Verifier(self._provisioning, self._means, recipe, self.ensure, self.let_go)
        return await verifier.verify(workspace, change, turn_id, notice) if recipe.checks else None

    async def tear_down(self, branch: str) -> None:
        folder = self._provisioning.folder(branch)
        await end_family(marker_for(self._means.house, branch).__eq__)
        try:
            await self._tear_down(branch)
        except (BotError, OSError) as problem:
            log.warning("teardown failed branch=%s: %s", branch, problem)
        await asyncio.to_thread(self.let_go, folder)

    def learn(self) -> None:
        """What must never leave: of every file that was copied in an earlier life of ours, or is to be."""
        source, wished = self._wishes.source, set(self._wishes.copy)
        for name in wished | self._provisioning.copied() if source else ():
            with contextlib.suppress(OSError):
                self._learn({name: read_within(source, name)} if source else {})

    async def _asked(self, commit: str) -> _Answer:
        """What a commit asks for never changes."""
        if commit not in self._answers:
            newest = list(self._answers.items())[1 - _ANSWERS :]
            self._answers = {**dict(newest), commit: await self._provisioning.read(commit, self._answer)}
        return self._answers[commit]

    def _answer(self, committed: Committed) -> _Answer:
        files = Files(committed.names, committed.read)
        return recipe_for(files, self._wishes), files.names, files.text(INCLUDES)

    async def _copy(self, workspace: Workspace, recipe: Recipe, tracked: frozenset[str], included: str) -> None:
        found: Mapping[str, bytes] = {}
        if self._wishes.source is not None:
            source = Source(self._wishes.source, tracked)
            found = await in_thread(source.find, recipe.copy, included if self._wishes.is_own else "")
        self._learn(found)
        provision = await self._provisioning.get(workspace.branch)
        copied = await in_thread(put, found, workspace.path, provision.copied, over=provision.is_ahead)
        if copied != provision.copied or provision.is_ahead:
            await self._provisioning.note(workspace.branch, replace(provision, copied=copied, is_ahead=False))

    def _learn(self, found: Mapping[str, bytes]) -> None:
        for name, content in found.items():
            for called, value in secrets_in(name, content.decode(errors="replace")):
                self._means.secrets.keep(called, value)

    async def _ensure(self, job: _Job) -> Ready:
        steps, folder = job.recipe.steps, job.workspace.path
        if not steps:
            return Ready(job.names)
        provision = await self._provisioning.get(job.branch)
        if provision.stamp != await in_thread(_stamp, steps, folder):
            obstacle = await self._set_up(job, provision)
            if obstacle:
                return Ready(obstacle=obstacle)
        own = self._means.own(folder)
        cache = own if own.is_dir() else self._means.shared
        done = tuple(f"{step.command}  (in {step.folder}/)" if step.folder else step.command for step in steps)
        return Ready({**job.names, **places_in(cache)}, cache if cache.is_dir() else None, done)

    async def _set_up(self, job: _Job, provision: Provision) -> Obstacle | None:
        """Whatever ends it before its time: nothing of it is left that could be taken for an agent's work."""
        makes = dict.fromkeys((*provision.folders, *(one for step in job.recipe.steps for one in step.makes)))
        provision = replace(provision, folders=tuple(makes))
        await self._provisioning.note(job.branch, provision)
        before = await self._provisioning.survey(job.branch)
        await self._provisioning.note(job.branch, replace(provision, is_half=before.is_clean))
        obstacle: Obstacle | None = Obstacle("was interrupted")
        try:
            is_base = before.is_clean and job.workspace.head == job.workspace.base
            with self._told(job, "setup", "Making the worktree ready"):
                obstacle = await self._run(job, is_base=is_base)
        finally:
            if obstacle and before.is_clean:
                await self._provisioning.start_over(job.branch)
            else:
                await self._note(job, provision, before, is_done=not obstacle)
        return obstacle

    async def _note(self, job: _Job, provision: Provision, before: Survey, *, is_done: bool) -> None:
        await self._provisioning.note(job.branch, provision)
        after = await self._provisioning.survey(job.branch)
        stamp = await in_thread(_stamp, job.recipe.steps, job.workspace.path) if is_done else ""
        made = provision.having_made(before.holds, after.holds, before.committed)
        await self._provisioning.note(job.branch, replace(made, stamp=stamp))

    async def _run(self, job: _Job, *, is_base: bool) -> Obstacle | None:
        async with self._bench(job.ground, job.marker, is_base=is_base, is_ahead=job.is_ahead) as (bench, cache):
            clock = asyncio.get_running_loop().time
            end = clock() + self._means.seconds
            for number, step in enumerate(job.recipe.steps):
                environment = {**job.names, **while_setting_up(cache, bench.environment, step.tools)}
                if missing := [tool for tool in step.tools if not bench.finds(tool)]:
                    return without_tools(step, missing)
                folder = job.ground.folder / step.folder
                command = Command(step.command, folder, environment, job.marker, is_urgent=not job.is_ahead)
                with self._told(job, f"setup-{number}", f"Making ready: {step}"):
                    outcome = await run(command, bench, seconds=max(end - clock(), 0.0))
                if outcome.code != 0 or bench.trouble:
                    attempt = await self._attempt(job.recipe, step, outcome, bench)
                    output = self._means.secrets.redact(outcome.output)
                    return failed(replace(attempt, is_base=is_base), output, seconds=self._means.seconds)
        return None

    @contextlib.contextmanager
    def _told(self, job: _Job, name: str, doing: str) -> Iterator[None]:
        """People see what goes on, and nobody takes it for an agent that shows no progress."""
        clock = self._means.clock
        job.notice(Event(EventKind.TOOL, clock(), doing, "setup", name))
        try:
            yield
        finally:
            job.notice(Event(EventKind.TOOL_RESULT, clock(), id=name))

    @asynccontextmanager
    async def _bench(
        self, ground: Ground, marker: str, *, is_base: bool, is_ahead: bool = False
    ) -> AsyncIterator[tuple[Bench, Path]]:
        cache = self._means.shared if is_base else self._means.own(ground.folder)
        async with self._precedence.alone(is_ahead=is_ahead) if is_base else contextlib.nullcontext():
            cache.mkdir(parents=True, exist_ok=True)
            async with self._means.sandbox.open_bench(ground, cache, marker) as bench:
                yield bench, cache

    async def _attempt(self, recipe: Recipe, step: Step, outcome: Outcome, bench: Bench) -> Attempt:
        asked = await in_thread(hosts_of, recipe.silent, self._means.ask) if bench.refused else ()
        named = (*recipe.hosts, *asked)
        return Attempt(step, outcome, bench.trouble, bench.refused, named, self._means.hosts)

    async def _tear_down(self, branch: str) -> None:
        base = await self._provisioning.base_of(branch)
        recipe = (await self._asked(base))[0] if base else Recipe()
        if not recipe.teardown:
            return
        ground = self._provisioning.ground(branch)
        names = names_for(ground.folder.name, await in_thread(self._means.blocks.block_for, ground.folder))
        marker = f"{self._means.house}:{branch}/teardown"
        async with self._bench(ground, marker, is_base=False) as (bench, cache):
            environment = {**names, **while_setting_up(cache, bench.environment)}
            clock = asyncio.get_running_loop().time
            end = clock() + TEARDOWN_SECONDS
            for text in recipe.teardown:
                command = Command(text, ground.folder, environment, marker)
                outcome = await run(command, bench, seconds=max(end - clock(), 0.0))
                if outcome.code != 0:
                    said = self._means.secrets.redact(outcome.output)
                    log.warning("teardown failed branch=%s code=%s: %s", branch, outcome.code, said)

    def let_go(self, folder: Path) -> None:
        """What a worktree had besides its files, which is gone."""
        with contextlib.suppress(OSError):
            self._means.blocks.release(folder)
        for gone in (self._means.own(folder), self._means.home(folder)):
            shutil.rmtree(gone, ignore_errors=True)


def _stamp(steps: Sequence[Step], folder: Path) -> str:
    locks = {lock: _sha_of(folder, lock) for step in steps for lock in step.locks}
    return hashlib.sha256(json.dumps([as_record(steps), locks]).encode()).hexdigest()


def _sha_of(folder: Path, name: str) -> str:
    try:
        return hash_content(read_within(folder, name)).hex()
    except OSError:
        return ""
