"""Verifies an agent's commit: runs the test commands on it, and those that fail on its base as well.

Rules: results are what the host measured. Both commits are tested in worktrees made for it, which no agent has written
to: set up on the base, they then get the tracked files of the commit, and are removed at the end.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.change import Change
from bot.domain.serialize import as_record, from_record
from bot.domain.setup_plan import SetupObstacle, SetupPlan, SetupResult, SetupStep
from bot.domain.turn import Event, EventKind, Workspace, WorktreeMounts
from bot.domain.verification import CheckResult, Verification, VerifiedCommand
from bot.errors import BotError
from bot.git.in_thread import in_thread
from bot.ports import EventSink
from bot.sandbox.interface import CommandSandbox
from bot.setup.progress import report_progress
from bot.setup.resources import SetupResources
from bot.setup.run_command import MAX_OUTPUT_BYTES, CommandOutcome, SetupCommand, run_command
from bot.setup.test_counts import parse_test_counts
from bot.setup.test_files import find_test_files
from bot.workspace.setup_access import SetupAccess

_MAX_READ_BYTES = 1 << 18
"""Output that is read to count tests; people see far less."""
_MAX_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class _TestPlace:
    """A prepared worktree to run commands in."""

    mounts: WorktreeMounts
    ready: SetupResult
    marker: str
    emit: EventSink
    title: str


@dataclass(frozen=True, slots=True)
class SetupActions:
    """Functions of setup that verification needs."""

    ensure: Callable[[Workspace, str, EventSink], Awaitable[SetupResult]]
    repeat: Callable[[Workspace, str, EventSink], Awaitable[SetupResult]]
    """Repeats setup for an agent's work in a worktree that was set up on the base."""
    release: Callable[[Path], None]
    """Releases ports and caches of a removed worktree."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """Verification by the plan of one base commit."""

    access: SetupAccess
    resources: SetupResources
    plan: SetupPlan
    setup: SetupActions

    async def verify(self, workspace: Workspace, change: Change, turn_id: str, emit: EventSink) -> Verification:
        emit(Event(EventKind.VERIFYING, self.resources.clock()))
        workspace = replace(workspace, base=change.base, head=change.head)
        verification = await self._verify_commit(workspace, f"{turn_id}/trial", emit)
        if not verification.commands:
            return verification
        pairs = zip(self.plan.checks, verification.commands, strict=True)
        due = [step for step, result in pairs if _is_to_compare(result, verification)]
        return await self._compare_with_base(verification, due, workspace, turn_id, emit)

    async def _compare_with_base(
        self,
        verification: Verification,
        steps: Sequence[SetupStep],
        workspace: Workspace,
        turn_id: str,
        emit: EventSink,
    ) -> Verification:
        if not steps:
            return verification
        try:
            tree = await self.access.tree_of(verification.base)
            base_results = RememberedResults(self.resources.cache_folder / "verified.json")
            names = {step: _result_name(tree, self.plan, step) for step in steps}
            known = {step: result for step in steps if (result := base_results.find(names[step]))}
            trouble = ""
            if unknown := [step for step in steps if step not in known]:
                results, trouble = await self._run_on_base(unknown, workspace, turn_id, emit)
                known |= zip(unknown, results, strict=False)
                base_results.save({names[step]: result for step, result in zip(unknown, results, strict=False)})
        except BotError as problem:
            return replace(verification, problem=str(problem))
        before = tuple(known[step] for step in steps if step in known)
        return replace(verification, base_commands=before, problem=trouble)

    async def _verify_commit(self, workspace: Workspace, name: str, emit: EventSink) -> Verification:
        verification = Verification(workspace.head, workspace.base)
        async with self._fresh_worktree(workspace, "trial") as fresh:
            ready = await self.setup.ensure(fresh, name, emit)
            if ready.obstacle:
                return replace(verification, problem=_setup_failure("the base", ready.obstacle))
            ready = await self.setup.repeat(await self.access.switch_temporary(fresh, workspace.head), name, emit)
            if ready.obstacle:
                problem = _setup_failure("the worktree", ready.obstacle)
                return replace(verification, problem=problem, objection=ready.obstacle.objection)
            place = self._place(fresh, ready, name, emit, "Verifying")
            commands = await self._run_commands(self.plan.checks, place)
            changed = await self.access.changed_paths(workspace.base, workspace.head)
            how = _setup_in_words(self.plan, ready.repeated)
            named = find_test_files(changed, [(step.command, step.folder) for step in self.plan.checks])
            return replace(verification, commands=commands, setup=how, test_files=named)

    async def _run_on_base(
        self, steps: Sequence[SetupStep], workspace: Workspace, turn_id: str, emit: EventSink
    ) -> tuple[tuple[VerifiedCommand, ...], str]:
        """Returns the results; or none, and the reason in words."""
        name = f"{turn_id}/before"
        async with self._fresh_worktree(workspace, "before") as base:
            ready = await self.setup.ensure(base, name, emit)
            if ready.obstacle:
                return (), _setup_failure("the base", ready.obstacle)
            return await self._run_commands(steps, self._place(base, ready, name, emit, "Verifying the base")), ""

    @asynccontextmanager
    async def _fresh_worktree(self, workspace: Workspace, purpose: str) -> AsyncIterator[Workspace]:
        """A worktree of the base that nobody has worked in."""
        async with self.access.temporary_worktree(workspace.branch, workspace.base, purpose=purpose) as fresh:
            try:
                yield fresh
            finally:
                await asyncio.to_thread(self.setup.release, fresh.path)

    def _place(self, fresh: Workspace, ready: SetupResult, name: str, emit: EventSink, title: str) -> _TestPlace:
        return _TestPlace(fresh.mounts, ready, f"{self.resources.marker_prefix}:{name}/verify", emit, title)

    async def _run_commands(self, steps: Sequence[SetupStep], place: _TestPlace) -> tuple[VerifiedCommand, ...]:
        clock, seconds = asyncio.get_running_loop().time, self.resources.verify_seconds
        end, results = clock() + seconds, []
        async with self._open_sandbox(place) as sandbox:
            for number, step in enumerate(steps):
                name = f"{place.marker}-{number}"
                with report_progress(place.emit, self.resources.clock, "verify", name, f"{place.title}: {step}"):
                    began = clock()
                    result = await self._run_one(step, place, sandbox, end - began)
                    results.append(replace(result, seconds=round(clock() - began, 1)))
        return tuple(results)

    @asynccontextmanager
    async def _open_sandbox(self, place: _TestPlace) -> AsyncIterator[CommandSandbox]:
        test_home = self.resources.test_home(place.mounts.folder)
        test_home.mkdir(parents=True, exist_ok=True)
        try:
            async with self.resources.sandbox.open_test(
                place.mounts, test_home, place.ready.cache, place.marker
            ) as sandbox:
                yield sandbox
        finally:
            await in_thread(self.resources.discard, test_home)

    async def _run_one(
        self, step: SetupStep, place: _TestPlace, sandbox: CommandSandbox, seconds: float
    ) -> VerifiedCommand:
        result = VerifiedCommand(step.command, step.folder)
        if sandbox.kill_reason:
            return replace(result, problem="not run, because the command before it was stopped")
        if missing := [tool for tool in step.tools if not sandbox.has_tool(tool)]:
            return replace(result, problem=f"not run: {', '.join(missing)} missing in the sandbox")
        if seconds <= 0:
            return replace(result, problem="not run: no time was left (`limits.verify_minutes`)")
        environment = {**place.ready.environment, **sandbox.environment, "CI": "1"}
        folder = place.mounts.folder / step.folder
        command = SetupCommand(step.command, folder, environment, place.marker, _MAX_READ_BYTES)
        outcome = await run_command(command, sandbox, seconds=seconds)
        return self._result(result, outcome, sandbox)

    def _result(self, result: VerifiedCommand, outcome: CommandOutcome, sandbox: CommandSandbox) -> VerifiedCommand:
        output = self.resources.secrets.redact(outcome.output)
        result = replace(
            result,
            exit_code=outcome.code,
            counts=parse_test_counts(outcome.output, is_cut=outcome.is_cut),
            timed_out=outcome.is_late,
            output=_end_of(output),
        )
        if sandbox.kill_reason:
            return replace(result, exit_code=None, timed_out=False, problem=f"was stopped. {sandbox.kill_reason}")
        if outcome.code is None and not outcome.is_late:
            return replace(result, problem="could not be started in the sandbox")
        return result


def _setup_failure(place_name: str, obstacle: SetupObstacle) -> str:
    hosts = f". It may not reach {', '.join(obstacle.hosts)} (`sandbox.setup_hosts`)" if obstacle.hosts else ""
    return f"setup of {place_name} failed: {obstacle.sentence}{hosts}"


def _setup_in_words(plan: SetupPlan, repeated: str) -> str:
    if not plan.steps:
        return ""
    return f"{', '.join(map(str, plan.steps))}, on the base, with network{f'; again {repeated}' if repeated else ''}"


def _is_to_compare(result: VerifiedCommand, verification: Verification) -> bool:
    """Red, or with a number of tests that the agent's change of the tests may have made smaller."""
    return result.result is CheckResult.RED or bool(result.counts and verification.test_files)


def _result_name(tree: str, plan: SetupPlan, step: SetupStep) -> str:
    """Hashes the files, the setup and the command that the result depends on."""
    content = json.dumps([tree, as_record(plan.steps), as_record(step)])
    return hashlib.sha256(content.encode()).hexdigest()


def _end_of(text: str) -> str:
    if len(text) <= MAX_OUTPUT_BYTES:
        return text
    return text[-MAX_OUTPUT_BYTES:].partition("\n")[2] or text[-MAX_OUTPUT_BYTES:]


@dataclass(frozen=True, slots=True)
class RememberedResults:
    """Results of commands on bases, in one file: the newest few hundred."""

    file: Path

    def find(self, name: str) -> VerifiedCommand | None:
        return self._read().get(name)

    def save(self, results: Mapping[str, VerifiedCommand]) -> None:
        """Saves results without output. Unclear results are not saved, so that their commands run again."""
        clear = {
            name: replace(result, output="")
            for name, result in results.items()
            if result.result is not CheckResult.UNKNOWN
        }
        newest = dict(list({**self._read(), **clear}.items())[-_MAX_REMEMBERED:])
        new_file = self.file.with_suffix(".new")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new_file.write_text(json.dumps(as_record(newest)))
        new_file.replace(self.file)

    def _read(self) -> Mapping[str, VerifiedCommand]:
        try:
            records = json.loads(self.file.read_text())
            return {name: from_record(VerifiedCommand, record) for name, record in records.items()}
        except (OSError, ValueError, AttributeError):
            return {}
