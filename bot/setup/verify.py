"""Tries what an agent has committed, by the host's order; and what is red, on the base as well.

Rule: what is said of a command is what the host saw of it. The result is tried where the agent worked, since that is
set up; the base in a worktree of its own, where no agent has been.
"""

import asyncio
import contextlib
import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.change import Change
from bot.domain.serialize import as_record
from bot.domain.setup_plan import Obstacle, Ready, Recipe, Step
from bot.domain.turn import Event, EventKind, Ground, Workspace
from bot.domain.verification import Standing, Trial, Verification
from bot.errors import BotError
from bot.git.in_thread import in_thread
from bot.ports import Notice
from bot.sandbox.interface import Bench
from bot.setup.means import Means
from bot.setup.remembered import Remembered
from bot.setup.run_command import KEPT_BYTES, Command, Outcome, run
from bot.setup.test_counts import counts_in
from bot.workspace.setup_access import Provisioning

_READ_BYTES = 1 << 18
"""Of what a command prints, for counting; far less of it is shown."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where commands are run: a worktree that is ready."""

    ground: Ground
    ready: Ready
    marker: str
    notice: Notice
    doing: str


@dataclass(frozen=True, slots=True)
class Verifier:
    """Of one repository as its base has it."""

    provisioning: Provisioning
    means: Means
    recipe: Recipe
    make_ready: Callable[[Workspace, str, Notice], Awaitable[Ready]]
    let_go: Callable[[Path], None]
    """Of what a worktree that goes has been given."""

    async def verify(self, workspace: Workspace, change: Change, turn_id: str, notice: Notice) -> Verification:
        notice(Event(EventKind.VERIFYING, self.means.clock()))
        workspace = replace(workspace, base=change.base, head=change.head)  # what is there now is an agent's
        ready = await self.make_ready(workspace, turn_id, notice)
        if ready.obstacle:
            return Verification(change.head, change.base, trouble=_not_ready("the worktree", ready.obstacle))
        place = _Place(workspace.ground, ready, f"{self.means.house}:{turn_id}/verify", notice, "Verifying")
        await self.provisioning.begin_trial(workspace.branch, change.head)
        try:
            trials = await self._tried(self.recipe.checks, place)
        finally:
            await self.provisioning.settle(workspace.branch)
        found = Verification(change.head, change.base, trials)
        red = [step for step, one in zip(self.recipe.checks, trials, strict=True) if one.standing is Standing.RED]
        return await self._held_against_base(found, red, workspace, turn_id, notice)

    async def _held_against_base(
        self, found: Verification, red: Sequence[Step], workspace: Workspace, turn_id: str, notice: Notice
    ) -> Verification:
        if not red:
            return found
        try:
            tree, memory = await self.provisioning.tree_of(found.base), Remembered(self.means.caches / "verified.json")
            names = {step: _name(tree, self.recipe, step) for step in red}
            known = {step: one for step in red if (one := memory.find(names[step]))}
            trouble = ""
            if fresh := [step for step in red if step not in known]:
                tried, trouble = await self._on_base(fresh, workspace, turn_id, notice)
                known |= zip(fresh, tried, strict=False)
                memory.keep({names[step]: one for step, one in zip(fresh, tried, strict=False)})
        except BotError as problem:
            return replace(found, trouble=str(problem))
        return replace(found, before=tuple(known[step] for step in red if step in known), trouble=trouble)

    async def _on_base(
        self, steps: Sequence[Step], workspace: Workspace, turn_id: str, notice: Notice
    ) -> tuple[tuple[Trial, ...], str]:
        """Or why not, in words."""
        async with self.provisioning.stand_in(workspace.branch, workspace.base) as base:
            try:
                ready = await self.make_ready(base, f"{turn_id}/before", notice)
                if ready.obstacle:
                    return (), _not_ready("the base", ready.obstacle)
                marker = f"{self.means.house}:{turn_id}/before/verify"
                return await self._tried(steps, _Place(base.ground, ready, marker, notice, "Verifying the base")), ""
            finally:
                await asyncio.to_thread(self.let_go, base.path)

    async def _tried(self, steps: Sequence[Step], place: _Place) -> tuple[Trial, ...]:
        clock, seconds = asyncio.get_running_loop().time, self.means.verify_seconds
        end, trials = clock() + seconds, []
        async with self._bench(place) as bench:
            for number, step in enumerate(steps):
                with _told(place, f"{place.marker}-{number}", step, self.means.clock):
                    begun = clock()
                    one = await self._trial(step, place, bench, end - begun)
                    trials.append(replace(one, seconds=round(clock() - begun, 1)))
        return tuple(trials)

    @asynccontextmanager
    async def _bench(self, place: _Place) -> AsyncIterator[Bench]:
        home = self.means.home(place.ground.folder)
        home.mkdir(parents=True, exist_ok=True)
        try:
            async with self.means.sandbox.open_trial(place.ground, home, place.ready.cache, place.marker) as bench:
                yield bench
        finally:
            await in_thread(shutil.rmtree, home, ignore_errors=True)

    async def _trial(self, step: Step, place: _Place, bench: Bench, seconds: float) -> Trial:
        trial = Trial(step.command, step.folder)
        if bench.trouble:
            return replace(trial, problem="not run, since the one before was ended")
        if missing := [tool for tool in step.tools if not bench.finds(tool)]:
            return replace(trial, problem=f"not run: it needs {', '.join(missing)}, which is not there")
        if seconds <= 0:
            return replace(trial, problem="not run: no time was left (`limits.verify_minutes`)")
        environment = {**place.ready.environment, **bench.environment, "CI": "1"}
        folder = place.ground.folder / step.folder
        command = Command(step.command, folder, environment, place.marker, _READ_BYTES)
        outcome = await run(command, bench, seconds=seconds)
        return self._seen(trial, outcome, bench)

    def _seen(self, trial: Trial, outcome: Outcome, bench: Bench) -> Trial:
        printed = self.means.secrets.redact(outcome.output)
        seen = replace(
            trial,
            code=outcome.code,
            counts=counts_in(outcome.output, is_cut=outcome.is_cut),
            is_late=outcome.is_late,
            output=_end_of(printed),
        )
        if bench.trouble:
            return replace(seen, code=None, is_late=False, problem=f"was ended. {bench.trouble}")
        if outcome.code is None and not outcome.is_late:
            return replace(seen, problem="could not be started in the sandbox")
        return seen


@contextlib.contextmanager
def _told(place: _Place, name: str, step: Step, clock: Callable[[], float]) -> Iterator[None]:
    place.notice(Event(EventKind.TOOL, clock(), f"{place.doing}: {step}", "verify", name))
    try:
        yield
    finally:
        place.notice(Event(EventKind.TOOL_RESULT, clock(), id=name))


def _not_ready(what: str, obstacle: Obstacle) -> str:
    hosts = f". It may not reach {', '.join(obstacle.hosts)} (`sandbox.setup_hosts`)" if obstacle.hosts else ""
    return f"{what} could not be made ready: {obstacle.sentence}{hosts}"


def _name(tree: str, recipe: Recipe, step: Step) -> str:
    """The same files, set up and tried in the same way."""
    told = json.dumps([tree, as_record(recipe.steps), as_record(step)])
    return hashlib.sha256(told.encode()).hexdigest()


def _end_of(text: str) -> str:
    if len(text) <= KEPT_BYTES:
        return text
    return text[-KEPT_BYTES:].partition("\n")[2] or text[-KEPT_BYTES:]
