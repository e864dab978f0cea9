"""`make chaos`: runs every scenario, bounded in time, and prints its numbers, its result and its seed.

`python tests/chaos [random] [moments] [twice] ...` runs only those; SEED and SECONDS come from the environment.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.chaos import checker, storms, syscalls
from tests.chaos.chronicle import Storm
from tests.chaos.compressed import fast_folder
from tests.chaos.damage import spoiling
from tests.chaos.forked_machine import nurseries
from tests.chaos.machine import Machine
from tests.chaos.writes import Bench, chosen, installed_daemon, small_daemon

_WEATHER = {"dropped": 0.1, "broken": 0.02, "limited": 0.01}


ISSUES, KILLS, SIDES = 300, 500, 3
SEEDS = 200

Scenario = Callable[[Path, int, float], Awaitable[None]]


async def _random(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed, Storm(**_WEATHER)) as scene:
        await storms.at_random(scene, issues=4, seconds=seconds, kills=500, every=(0.5, 20.0))


async def _moments(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed) as scene:
        await _every_moment(scene, seconds, twice=False)


async def _twice(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed) as scene:
        await _every_moment(scene, seconds, twice=True)


async def _every_moment(scene: storms.Scene, seconds: float, *, twice: bool) -> None:
    moments = scene.random.sample(storms.EVERY_MOMENT, len(storms.EVERY_MOMENT))
    issues = 8 if twice else 4  # while it gets up, no moment comes
    never = await storms.at_moments(scene, moments, issues=issues, seconds=seconds, twice=twice)
    print(f"  moments={len(moments)} never_came={never}")


async def _commits(folder: Path, seed: int, seconds: float) -> None:
    if not shutil.which("strace"):
        print("  skipped: there is no strace here")
        return
    async with storms.scene(folder, seed) as scene:
        await storms.at_commits(scene, issues=2, seconds=seconds, most=60)


async def _sandboxed(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed, Storm(**_WEATHER), sandbox="bwrap") as scene:
        await storms.at_random(scene, issues=2, seconds=seconds, kills=100, every=(4.0, 30.0))


async def _forgetting(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed) as scene:
        scene.machine.between = Machine.forget
        never = await storms.at_moments(scene, storms.WORTH_FORGETTING, issues=2, seconds=seconds)
    print(f"  moments={len(storms.WORTH_FORGETTING)} never_came={never}")


async def _damaged(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed) as scene:
        scene.machine.between = spoiling(scene.random)
        await storms.at_random(scene, issues=2, seconds=seconds, kills=12, every=(5.0, 20.0))


async def _side_by_side(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed, machines=2) as scene:
        await storms.side_by_side(scene, issues=3)


async def _writes(folder: Path, seed: int, seconds: float) -> None:
    async with nurseries(1) as born:
        await _faults(Bench(folder, partial(small_daemon, born=born)), seed, seconds)


async def _writes_installed(folder: Path, seed: int, seconds: float) -> None:
    await _faults(Bench(folder, installed_daemon), seed, seconds)


async def _writes_at_start(folder: Path, seed: int, seconds: float) -> None:
    await _faults(Bench(folder, installed_daemon), seed, seconds, whole=False)


async def _faults(bench: Bench, seed: int, seconds: float, *, whole: bool = True) -> None:
    """One fault in each try, until all were tried or the time is over."""
    if not syscalls.is_possible():
        print("  skipped: strace is missing, or may not trace here")
        return
    bench.folder.mkdir(parents=True, exist_ok=True)
    places = await (bench.places() if whole else bench.places_at_start())
    faults = list(chosen(places, Random(seed)))
    print(f"  places={len(places)} faults={len(faults)}", flush=True)
    end = time.monotonic() + seconds
    for place, fault in faults:
        if time.monotonic() > end:
            break
        tried = await (bench.story(place, fault) if whole else bench.start(place, fault))
        if tried.broken:
            print(f"  {fault} at {place}", flush=True)
    print(f"  {bench.figures()}", flush=True)


# Small daemons in compressed time


async def _compressed(folder: Path, seed: int, seconds: float) -> None:
    each = (str(ISSUES // SIDES), str(KILLS // SIDES + 1), str(seconds))
    await _in_parallel(folder, [("random", seed + side, each) for side in range(SIDES)])


async def _forgetting_often(folder: Path, seed: int, seconds: float) -> None:
    await _in_parallel(folder, [("forgetting", seed + side, ("30", "100", str(seconds))) for side in range(2)])


async def _damaged_often(folder: Path, seed: int, seconds: float) -> None:
    await _in_parallel(folder, [("damaged", seed + side, ("30", "100", str(seconds))) for side in range(2)])


async def _pairs(folder: Path, seed: int, seconds: float) -> None:
    seeds = str(SEEDS // 2)
    await _in_parallel(folder, [("side_by_side", seed + side * SEEDS, (seeds, str(seconds * 10))) for side in range(2)])


async def _stories(folder: Path, seed: int, seconds: float) -> None:
    """As many random stories as there is time for, on each tracker in a process of its own."""
    command = (sys.executable, "-m", "tests.chaos.random_stories", str(folder), str(seed), "1000000", str(seconds))
    root = str(Path(__file__).parents[2])
    processes = [await asyncio.create_subprocess_exec(*command, kind, cwd=root) for kind in ("github", "linear")]
    codes = [await process.wait() for process in processes]
    assert codes == [0, 0], "see the stories above"


async def _soak(folder: Path, seed: int, seconds: float) -> None:
    await _in_parallel(folder, [("soak", seed, (str(seconds),))])


async def _machine(folder: Path, seed: int, seconds: float) -> None:
    test = str(Path(__file__).parent / "test_machine.py")
    env = {**os.environ, "CHAOS_EXAMPLES": str(int(seconds * 20))}
    words = ("-p", "no:cacheprovider", "--timeout", "0", "--show-capture=no", f"--hypothesis-seed={seed}")
    done = await asyncio.create_subprocess_exec(sys.executable, "-m", "pytest", test, *words, env=env)
    assert await done.wait() == 0


async def _in_parallel(folder: Path, storms_to_come: list[tuple[str, int, tuple[str, ...]]]) -> None:
    """Runs each scenario in its own process."""
    command = (sys.executable, "-m", "tests.chaos.compressed")
    root = str(Path(__file__).parents[2])
    processes = [
        await asyncio.create_subprocess_exec(*command, kind, str(folder / str(seed)), str(seed), *more, cwd=root)
        for kind, seed, more in storms_to_come
    ]
    for process in processes:
        assert await process.wait() == 0, f"a storm fell over: see {folder}"


SCENARIOS: dict[str, Scenario] = {
    "random": _random,
    "moments": _moments,
    "twice": _twice,
    "commits": _commits,
    "sandboxed": _sandboxed,
    "forgetting": _forgetting,
    "damaged": _damaged,
    "side_by_side": _side_by_side,
    "machine": _machine,
    "writes_installed": _writes_installed,
    "writes_at_start": _writes_at_start,
}
COMPRESSED: dict[str, Scenario] = {
    "compressed": _compressed,
    "compressed_forgetting": _forgetting_often,
    "compressed_damaged": _damaged_often,
    "compressed_side_by_side": _pairs,
    "soak": _soak,
    "writes": _writes,
    "stories": _stories,
}


def _told(folder: Path) -> bool:
    """Returns True if a promise was broken. Prints only a total for good histories."""
    verdicts = {file.parent.name: checker.judged(file) for file in sorted(folder.rglob("history.jsonl"))}
    total: Counter[str] = Counter()
    for name, verdict in verdicts.items():
        total.update(verdict.figures)
        if len(verdicts) == 1 or verdict.broken:
            print(f"  {name}: {verdict}".replace("\n", "\n  "), flush=True)
    if len(verdicts) > 1:
        summed = ("issues", "tidied", "kills", "requests", "writes", "dropped", "pull_requests", "comments", "pushes")
        print("  all:", f"histories={len(verdicts)}", *(f"{name}={total[name]:g}" for name in summed), flush=True)
    return any(verdict.broken for verdict in verdicts.values())


def main(*wanted: str) -> int:
    seed, seconds = (
        int(os.environ.get("SEED") or int.from_bytes(os.urandom(3))),
        float(os.environ.get("SECONDS", "240")),
    )
    failed = []
    scenarios = {**SCENARIOS, **COMPRESSED}
    for name in wanted or scenarios:
        print(f"{name} SEED={seed}", flush=True)
        place = Path(tempfile.mkdtemp(prefix="treehand-chaos-", dir=fast_folder() if name in COMPRESSED else None))
        begun = time.monotonic()
        asyncio.run(scenarios[name](place / name, seed, seconds))
        print(f"  took {time.monotonic() - begun:.0f} s", flush=True)
        broken = _told(place / name)
        if broken:
            print(f"  failed; see {place / name}", flush=True)
            failed.append(name)
        else:
            shutil.rmtree(place, ignore_errors=True)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
