"""Verifies an agent's commit: runs the test commands on it, and those that fail on its base as well.

Rules: results are what the host measured. Both commits are tested in worktrees made for it, which no agent has written
to: set up on the base, they then get the tracked files of the commit, and are removed at the end. No command finds what
another has written.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.change import Change, Objection
from bot.domain.compare_with_base import MeasuredCommand, compare_with_base
from bot.domain.serialize import as_record
from bot.domain.setup_plan import SetupObstacle, SetupPlan, SetupResult
from bot.domain.turn import Event, EventKind, Workspace
from bot.domain.verification import BaseComparison, CheckResult, Verification
from bot.errors import BotError
from bot.git.in_thread import in_thread
from bot.ports import EventSink
from bot.setup.measure_commands import CommandRunner, PreparedWorktree
from bot.setup.remembered_results import RememberedResults
from bot.setup.resources import SetupResources
from bot.setup.test_files import find_test_files
from bot.workspace.setup_access import SetupAccess

_CHEAP_SECONDS = 10.0
"""A base whose commands take no longer is tested a second time before a change is blamed."""


@dataclass(frozen=True, slots=True)
class SetupActions:
    """Functions of setup that verification needs."""

    ensure: Callable[[Workspace, str, EventSink], Awaitable[SetupResult]]
    repeat: Callable[[Workspace, str, EventSink], Awaitable[SetupResult]]
    """Repeats setup for an agent's work in a worktree that was set up on the base."""
    release: Callable[[Path], None]
    """Releases ports and caches of a removed worktree."""


@dataclass(frozen=True, slots=True)
class _Results:
    """Results of the commands in one worktree; or the reason why there are none."""

    commands: tuple[MeasuredCommand, ...] = ()
    problem: str = ""
    objection: Objection | None = None
    repeated_setup: str = ""


@dataclass(frozen=True, slots=True)
class Verifier:
    """Verification by the plan of one base commit."""

    access: SetupAccess
    resources: SetupResources
    plan: SetupPlan
    setup: SetupActions
    services: Sequence[str] = ()
    """Titles of the services that run beside each command."""

    async def verify(self, workspace: Workspace, change: Change, turn_id: str, emit: EventSink) -> Verification:
        emit(Event(EventKind.VERIFYING, self.resources.clock()))
        workspace = replace(workspace, base=change.base, head=change.head)
        verification = Verification(workspace.head, workspace.base)
        trial = await self._run_on_commit(range(len(self.plan.checks)), workspace, f"{turn_id}/trial", emit)
        if not trial.commands:
            return replace(verification, problem=trial.problem, objection=trial.objection)
        changed = await self.access.changed_paths(workspace.base, workspace.head)
        verification = replace(
            verification,
            commands=tuple(one.command for one in trial.commands),
            setup=_setup_in_words(self.plan, trial.repeated_setup, self.services),
            test_files=find_test_files(changed, [(step.command, step.folder) for step in self.plan.checks]),
            without_network=not self.resources.sandbox.tests_have_network,
        )
        try:
            return await _Comparer(self, workspace, turn_id, emit).compare(verification, trial.commands)
        except BotError as problem:
            return replace(verification, problem=str(problem))

    async def _run_on_commit(self, places: Sequence[int], workspace: Workspace, name: str, emit: EventSink) -> _Results:
        """Runs the commands at these places of the plan."""
        async with self._fresh_worktree(workspace, "trial") as fresh:
            ready = await self.setup.ensure(fresh, name, emit)
            if ready.obstacle:
                return _Results(problem=_setup_failure("the base", ready.obstacle))
            ready = await self.setup.repeat(await self.access.switch_temporary(fresh, workspace.head), name, emit)
            if ready.obstacle:
                problem = _setup_failure("the worktree", ready.obstacle)
                return _Results(problem=problem, objection=ready.obstacle.objection)
            return await self._run(places, fresh, ready, name, emit, "Verifying")

    async def run_again(self, places: Sequence[int], workspace: Workspace, turn_id: str, emit: EventSink) -> _Results:
        """Once more, in another fresh worktree: what the first run has written changes nothing."""
        return await self._run_on_commit(places, workspace, f"{turn_id}/again", emit)

    async def run_on_base(self, places: Sequence[int], workspace: Workspace, turn_id: str, emit: EventSink) -> _Results:
        name = f"{turn_id}/before"
        async with self._fresh_worktree(workspace, "before") as base:
            ready = await self.setup.ensure(base, name, emit)
            if ready.obstacle:
                return _Results(problem=_setup_failure("the base", ready.obstacle))
            return await self._run(places, base, ready, name, emit, "Verifying the base")

    async def _run(
        self, places: Sequence[int], fresh: Workspace, ready: SetupResult, name: str, emit: EventSink, title: str
    ) -> _Results:
        marker = f"{self.resources.marker_prefix}:{name}/verify"
        mounts = replace(fresh.mounts, toolchains=ready.toolchains, services=ready.services)
        place = PreparedWorktree(mounts, ready, marker, emit, title)
        commands = await CommandRunner(place, self.resources).run([self.plan.checks[place] for place in places])
        return _Results(commands, repeated_setup=ready.repeated)

    @asynccontextmanager
    async def _fresh_worktree(self, workspace: Workspace, purpose: str) -> AsyncIterator[Workspace]:
        """A worktree of the base that nobody has worked in."""
        async with self.access.temporary_worktree(workspace.branch, workspace.base, purpose=purpose) as fresh:
            try:
                yield fresh
            finally:
                await asyncio.to_thread(self.setup.release, fresh.path)


@dataclass(frozen=True, slots=True)
class _Comparer:
    """Compares the results on a commit with those on its base. Commands are known by their place in the plan."""

    verifier: Verifier
    workspace: Workspace
    turn_id: str
    emit: EventSink

    async def compare(self, verification: Verification, now: Sequence[MeasuredCommand]) -> Verification:
        due = [place for place, one in enumerate(now) if _is_to_compare(one, verification)]
        base, trouble = await self._base_results(due)
        compared = {place: await in_thread(compare_with_base, now[place], one) for place, one in base.items()}
        doubtful = [place for place, one in compared.items() if one.is_broken and not now[place].command.timed_out]
        if doubtful:
            compared |= await self._compare_again(doubtful, now, base)
        commands = tuple(replace(one.command, against_base=compared.get(place)) for place, one in enumerate(now))
        before = tuple(one.command for _, one in sorted(base.items()))
        return replace(verification, commands=commands, base_commands=before, problem=trouble)

    async def _base_results(self, due: Sequence[int], run: int = 1) -> tuple[dict[int, MeasuredCommand], str]:
        """Returns the results of the first or second run that are due or known, and why some are missing."""
        verifier, checks = self.verifier, self.verifier.plan.checks
        tree = await verifier.access.tree_of(self.workspace.base)
        remembered = RememberedResults(verifier.resources.cache_folder / "verified")
        names = [_result_name(tree, verifier, place, run) for place in range(len(checks))]
        found = {place: one for place, name in enumerate(names) if (one := await in_thread(remembered.find, name))}
        unknown = [place for place in due if place not in found]
        if not unknown:
            return found, ""
        places = self._with_needed(unknown)
        results = await verifier.run_on_base(places, self.workspace, self.turn_id, self.emit)
        measured = dict(zip(places, results.commands, strict=False))  # none, if setup of the base failed
        await in_thread(remembered.save, {names[place]: one for place, one in measured.items()})
        return {**found, **measured}, results.problem

    async def _compare_again(
        self, places: Sequence[int], now: Sequence[MeasuredCommand], base: Mapping[int, MeasuredCommand]
    ) -> dict[int, BaseComparison]:
        """Runs them a second time on the commit, and on the base where that is cheap, before anybody is blamed."""
        needed = self._with_needed(places)
        repeated = await self.verifier.run_again(needed, self.workspace, self.turn_id, self.emit)
        again = dict(zip(needed, repeated.commands, strict=False))  # none, if its setup failed
        seconds = sum(one.command.seconds for place, one in base.items() if place in needed)
        still = [
            place for place in places
            if (await in_thread(compare_with_base, now[place], base[place], again.get(place))).is_broken
        ]  # fmt: skip
        base_again: Mapping[int, MeasuredCommand] = {}
        if still and seconds <= _CHEAP_SECONDS:
            base_again, _ = await self._base_results(still, run=2)
        return {
            place: await in_thread(compare_with_base, now[place], base[place], again.get(place), base_again.get(place))
            for place in places
        }

    def _with_needed(self, places: Sequence[int]) -> Sequence[int]:
        """Adds the commands before them where a command finds what those have made."""
        is_alone = self.verifier.resources.sandbox.can_show_copies
        return places if is_alone else range(max(places) + 1)


def _setup_failure(place_name: str, obstacle: SetupObstacle) -> str:
    hosts = f". It may not reach {', '.join(obstacle.hosts)} (`sandbox.setup_hosts`)" if obstacle.hosts else ""
    return f"setup of {place_name} failed: {obstacle.sentence}{hosts}"


def _setup_in_words(plan: SetupPlan, repeated: str, services: Sequence[str]) -> str:
    started = f"starting {', '.join(services)} for each command" if services else ""
    if not plan.steps:
        return started
    ran = f"{', '.join(map(str, plan.steps))}, on the base, with network{f'; again {repeated}' if repeated else ''}"
    return f"{ran}; {started}" if started else ran


def _is_to_compare(result: MeasuredCommand, verification: Verification) -> bool:
    """Red, or with tests that the agent's change of the tests may have made fewer."""
    is_red = result.command.result is CheckResult.RED
    return is_red or bool(verification.test_files and (result.report or result.command.exit_code == 0))


def _result_name(tree: str, verifier: Verifier, place: int, run: int) -> str:
    """Hashes the files, the setup, the services and the commands that it depends on: its own, and those before it."""
    plan, services = verifier.plan, [[*verifier.services]] if verifier.services else []
    content = json.dumps([tree, as_record(plan.steps), as_record(plan.checks[: place + 1]), run, *services])
    return hashlib.sha256(content.encode()).hexdigest()
