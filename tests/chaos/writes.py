"""One issue, from its label to the clean-up, with one fault at one system call. Each try has a machine of its own.

Small daemons take seconds for an issue, and the installed one half a minute.
"""

import asyncio
import re
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Protocol

from tests.chaos import checker, compressed, hands, storms
from tests.chaos.chronicle import Storm
from tests.chaos.forked_machine import ForkedMachine, Nursery
from tests.chaos.machine import REPOSITORY
from tests.chaos.people import Stage
from tests.chaos.storms import Scene
from tests.chaos.syscalls import HELD, REQUESTS, Fault, Place, counting, places_in, striking, tracing
from tests.fakes.github import gits

_SECONDS = 90.0
_FULL_SECONDS = 0.5
_TURNS = 2
"""Turns of an issue without a fault."""
_NOT_OURS = ("/daemon.id.", "/markers.", "/homes/")
"""What has the number of a process in its name, and what the agent's own program writes."""
_SEED = 7
_KNOWN = """
SELECT (SELECT coalesce(sum(usd), 0) FROM money) + coalesce(sum(usd), 0) FROM turns WHERE NOT EXISTS (
    SELECT 1 FROM money WHERE (money.key, money.ordinal, money.turn) = (turns.key, turns.ordinal, turns.turn)
)
"""


_EMPTY_LATER = re.compile(r"-(wal|shm)$|\.git/refs/(heads|treehand/\w+)(/treehand)?$")
"""Files of an open database; folders that git makes for refs, and keeps without them."""


@dataclass
class Tried:
    place: Place
    fault: Fault
    hit: str = ""
    """The call as the tracer saw it; empty: it did not come."""
    fell: int = 0
    """How often the daemon ended."""
    log: str = ""
    """Of the daemon."""
    broken: Sequence[str] = ()


@asynccontextmanager
async def small_daemon(folder: Path, born: Sequence[Nursery], *, held: bool) -> AsyncIterator[Scene]:
    async with compressed.scene(folder, _SEED, Storm(), born) as scene:
        machine = scene.machine
        assert isinstance(machine, ForkedMachine)
        assert machine.life
        machine.life = replace(machine.life, traced=held)
        await machine.start()
        machine.life = replace(machine.life, traced=False)
        yield scene


@asynccontextmanager
async def installed_daemon(folder: Path, *, held: bool) -> AsyncIterator[Scene]:
    async with storms.scene(folder, _SEED) as scene:
        scene.machine.within = HELD if held else ()
        await scene.machine.start()
        if held:
            status = Path(f"/proc/{scene.machine.pid}/status")
            assert await _until(lambda: "State:\tT" in status.read_text())
        scene.machine.within = ()
        yield scene


class Begun(Protocol):
    """Starts a daemon, which waits for its tracer if it is `held`."""

    def __call__(self, folder: Path, *, held: bool) -> AbstractAsyncContextManager[Scene]: ...


@dataclass
class Bench:
    """Tries one fault after the other."""

    folder: Path
    begun: Begun
    tried: list[Tried] = field(default_factory=list)
    usual: frozenset[str] = frozenset()
    """What is on the disk after an issue without a fault."""
    paid: int = 0
    """How often the model is paid for an issue without a fault."""
    _number: int = 0

    async def places(self, *, times: int = 2) -> Sequence[Place]:
        """Only those that come every time: random names, and calls that depend on the time, do not."""
        return _ours(set.intersection(*[await self._counted() for _ in range(times)]))

    async def places_at_start(self) -> Sequence[Place]:
        """Until it has looked at the issues for the first time."""
        log = self.folder / "counted.log"
        async with self.begun(self._next(), held=True) as scene:
            looked = _looked(scene)
            async with tracing(scene.machine, log, *counting()):
                await _until(looked)
        found = places_in(log, scene.machine.folder, {Stage.LABELLED: 0.0})
        return _ours({place for place in found if place.path})

    async def _counted(self) -> set[Place]:
        log = self.folder / "counted.log"
        async with self.begun(self._next(), held=True) as scene:
            scene.people.ask(1)
            async with tracing(scene.machine, log, *counting()):
                came = await _until_tidied(scene)
            await _swept(scene)
        folder = scene.machine.folder
        self.usual, self.paid = self.usual | _listing(folder), max(self.paid, _paid(scene))
        found = places_in(log, folder, came)
        shutil.rmtree(folder.parent)
        return found

    async def story(self, place: Place, fault: Fault) -> Tried:
        """Also looks at everything that is left afterwards."""
        tried = Tried(place, fault)
        async with self.begun(self._next(), held=place.since is Stage.LABELLED) as scene:
            scene.people.ask(1)
            async with asyncio.TaskGroup() as group:
                people = group.create_task(_until_tidied(scene))
                await _until(lambda: place.since in scene.people.stages.values() or people.done())
                await self._strike(scene, tried, people.done)
                await _well_again(scene, people, tried)
            await _swept(scene)
        for problem in (*_money(scene, tried.fell, self.paid), *_left(scene, self.usual), *_said(scene)):
            scene.history.note("found", problem=problem)
        return self._judged(scene, tried)

    async def start(self, place: Place, fault: Fault) -> Tried:
        """One fault while a daemon starts, until it first looks at GitHub; then it starts again."""
        tried = Tried(place, fault)
        async with self.begun(self._next(), held=True) as scene:
            looked = _looked(scene)
            await self._strike(scene, tried, looked)
            await _until(looked)
            if not scene.machine.alive:
                await _again(scene, tried)
            await _swept(scene)
        for problem in _said(scene):
            scene.history.note("found", problem=problem)
        return self._judged(scene, tried)

    async def _strike(self, scene: Scene, tried: Tried, is_over: Callable[[], bool]) -> None:
        """Waits for the call, unless everything is over before it comes."""
        machine, log = scene.machine, self.folder / "struck.log"
        log.unlink(missing_ok=True)
        words = striking(tried.place, tried.fault, machine.folder)
        async with tracing(machine, log, *words, first_only=tried.place.call in REQUESTS) as tracer:
            await _until(lambda: is_over() or bool(tracer.struck) or not machine.alive)
            tried.hit = tracer.struck
            if tried.hit and tried.fault is Fault.KILL:
                machine.strike()  # where the call was git's, the daemon goes with it
            elif tried.hit and tried.fault is Fault.ENOSPC:
                await _until(lambda: is_over() or not machine.alive, seconds=_FULL_SECONDS)

    def _judged(self, scene: Scene, tried: Tried) -> Tried:
        folder = scene.machine.folder.parent
        tried.log = (scene.machine.folder / "daemon.log").read_text(errors="replace")
        tried.broken = checker.judged(folder / "history.jsonl").broken
        self.tried.append(tried)
        if not tried.broken:
            shutil.rmtree(folder)
        return tried

    def figures(self) -> str:
        hit = [one for one in self.tried if one.hit]
        faults = Counter(one.fault for one in hit)
        return " ".join([
            f"tried={len(self.tried)}", *(f"{fault}={faults[fault]}" for fault in Fault),
            f"never_came={len(self.tried) - len(hit)}", f"ended={sum(one.fell for one in hit)}",
            f"broken={sum(bool(one.broken) for one in self.tried)}",
        ])  # fmt: skip

    def _next(self) -> Path:
        self._number += 1
        return self.folder / str(self._number)


def _ours(places: Collection[Place]) -> Sequence[Place]:
    return sorted(one for one in places if not any(part in one.path for part in _NOT_OURS))


async def _until(is_so: Callable[[], bool], *, seconds: float = _SECONDS) -> bool:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return is_so()


async def _until_tidied(scene: Scene) -> dict[Stage, float]:
    """Returns when each stage came."""
    came = {Stage.LABELLED: 0.0}
    end = time.monotonic() + _SECONDS
    while not scene.people.content and time.monotonic() < end:
        await asyncio.sleep(0.02)
        scene.people.look()
        for stage in scene.people.stages.values():
            came.setdefault(stage, time.time())
    return came


async def _well_again(scene: Scene, people: "asyncio.Task[dict[Stage, float]]", tried: Tried) -> None:
    """Starts the daemon again whenever it has ended, until the issue is over."""
    while not (people.done() and scene.machine.alive):
        if not scene.machine.alive:
            await _again(scene, tried)
        await asyncio.wait([people], timeout=0.05)


async def _again(scene: Scene, tried: Tried) -> None:
    await scene.machine.fall()
    tried.fell += 1
    await scene.machine.rise()
    if not await _until(_looked(scene)):
        scene.history.note("found", problem="it does not start again")


def _looked(scene: Scene) -> Callable[[], bool]:
    """Has it ended, or looked at the issues since now? It does so after it has cleaned up."""

    def looks() -> int:
        return sum("/issues" in call.path for call in scene.github.history)

    before = looks()
    return lambda: looks() > before or not scene.machine.alive


async def _swept(scene: Scene) -> None:
    """Starts the daemon once more, and waits for what it does after the sweep: it looks at GitHub."""
    await scene.machine.stop()
    await scene.machine.start()
    await _until(_looked(scene))


def _paid(scene: Scene) -> int:
    """How often the model was paid, by its own record."""
    return len(scene.model.requests) if scene.model else len(_bill(scene))


def _bill(scene: Scene) -> list[str]:
    bill = scene.machine.folder / hands.BILL
    return bill.read_text().split() if bill.exists() else []


def _money(scene: Scene, fell: int, usually: int) -> Iterator[str]:
    """Compares the model's own record with the daemon's."""
    paid = _paid(scene)
    a_turn = usually // _TURNS
    if paid > usually + a_turn * max(fell, 1):
        yield f"the model was paid {paid} times instead of {usually}"
    if scene.model:
        return
    for turn, times in Counter(_bill(scene)).items():
        if times > 1:
            yield f"{turn} was paid {times} times"
    with closing(sqlite3.connect(scene.machine.state_dir / "treehand.db")) as db:
        ((known,),) = db.execute(_KNOWN)
    counted = round(known / hands.COST)
    if not paid <= counted <= paid + fell:
        yield f"{paid} turns were paid, and {counted} are known"


def _left(scene: Scene, usual: frozenset[str]) -> Iterator[str]:
    if more := _listing(scene.machine.folder) - usual:
        yield f"left on the disk: {sorted(more)[:5]}"
    home = scene.github.world.repository(REPOSITORY).path
    refs = gits.git(home, "for-each-ref", "--format=%(refname)").split()
    if ours := [ref for ref in refs if "treehand" in ref and not ref.startswith("refs/treehand/")]:
        yield f"left in the repository: {ours}"


def _listing(folder: Path) -> frozenset[str]:
    """Everything on the disk but git's objects, and what is there or not without a meaning."""
    state = folder / "state"
    found = (str(one.relative_to(state)) for one in state.rglob("*"))
    return frozenset(one for one in found if "/objects/" not in one and not _EMPTY_LATER.search(one))


def _said(scene: Scene) -> Iterator[str]:
    """A daemon that meets a sick disk says what to do, and shows no traceback."""
    log = (scene.machine.folder / "daemon.log").read_text(errors="replace")
    if "Traceback" in log:
        yield f"a traceback: {log[log.index('Traceback') :][:2000]}"


def chosen(places: Sequence[Place], random: Random) -> Iterator[tuple[Place, Fault]]:
    """All of them in such an order that any beginning is a fair sample of calls, folders and faults."""
    groups: dict[tuple[str, str, Fault], list[Place]] = {}
    for place in random.sample(places, len(places)):
        for fault in Fault if place.path else (Fault.KILL,):
            groups.setdefault((place.call, place.path.rpartition("/")[0], fault), []).append(place)
    names = random.sample(list(groups), len(groups))
    while names:
        for name in names:
            yield groups[name].pop(), name[-1]
        names = [name for name in names if groups[name]]
