"""`make chaos`: the long form. Every scenario in its turn, bounded in time, with its figures, its verdict and its seed.

`python tests/chaos [random] [moments] [twice] ...` runs only those; SEED and SECONDS come from the environment.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.chaos import checker, storms
from tests.chaos.chronicle import Storm
from tests.fakes.github.schemas import folder

_WEATHER = {"dropped": 0.1, "broken": 0.02, "limited": 0.01}


@dataclass(frozen=True)
class Scenario:
    play: Callable[[Path, int, float], Awaitable[None]]
    promised: bool = True
    """Otherwise it is told what happens, and nobody fails for it."""


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
    never = await storms.at_moments(scene, moments, issues=4, seconds=seconds, twice=twice)
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
        scene.house.forgetful = True
        never = await storms.at_moments(scene, storms.WORTH_FORGETTING, issues=2, seconds=seconds)
    print(f"  moments={len(storms.WORTH_FORGETTING)} never_came={never}")


async def _side_by_side(folder: Path, seed: int, seconds: float) -> None:
    async with storms.scene(folder, seed, houses=2) as scene:
        await storms.side_by_side(scene, issues=3)


SCENARIOS = {
    "random": Scenario(_random),
    "moments": Scenario(_moments),
    "twice": Scenario(_twice),
    "commits": Scenario(_commits),
    "sandboxed": Scenario(_sandboxed),
    "forgetting": Scenario(_forgetting, promised=False),
    "side_by_side": Scenario(_side_by_side, promised=False),
}


def main(*wanted: str) -> int:
    seed, seconds = (
        int(os.environ.get("SEED") or int.from_bytes(os.urandom(3))),
        float(os.environ.get("SECONDS", "240")),
    )
    place = Path(tempfile.mkdtemp(prefix="treehand-chaos-"))
    failed = []
    if folder() is None:
        sys.exit("GitHub's schemas are not here: put them where TREEHAND_SCHEMAS says")
    for name in wanted or SCENARIOS:
        print(f"{name} SEED={seed}", flush=True)
        asyncio.run(SCENARIOS[name].play(place / name, seed, seconds))
        if not (place / name).exists():
            continue
        verdict = checker.judged(place / name / "history.jsonl")
        print(f"  {verdict}".replace("\n", "\n  "), flush=True)
        if verdict.broken:
            print(f"  {'failed' if SCENARIOS[name].promised else 'not promised yet'}; see {place / name}", flush=True)
            failed += [name] if SCENARIOS[name].promised else []
    if not failed:
        shutil.rmtree(place, ignore_errors=True)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
