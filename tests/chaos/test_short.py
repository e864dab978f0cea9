"""Short form of `make chaos`: kills the installed daemon at critical moments; kills and suspends small ones."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.chaos import checker, compressed, storms
from tests.chaos.damage import now_and_then, spoiling
from tests.chaos.forked_machine import nurseries
from tests.chaos.machine import Machine

WHERE_IT_HURTS = [("comment", "effect"), ("pull request", "effect")]


async def test_kills_at_critical_moments_lose_nothing_and_repeat_nothing(tmp_path: Path):
    async with storms.scene(tmp_path / "scene", seed=7) as scene:
        never = await storms.at_moments(scene, WHERE_IT_HURTS, issues=1, seconds=120)
    verdict = checker.judged(tmp_path / "scene" / "history.jsonl")
    assert (never, list(verdict.broken)) == ([], []), verdict
    assert verdict.figures["kills"] == len(WHERE_IT_HURTS)


@pytest.fixture
def fast() -> Iterator[Path]:
    with TemporaryDirectory(prefix="treehand-chaos-", dir=compressed.fast_folder()) as folder:
        yield Path(folder) / "scene"


async def test_random_kills_during_faults_lose_nothing_and_repeat_nothing(fast: Path):
    async with nurseries(1) as born, compressed.scene(fast, 7, compressed.weather(), born) as scene:
        await compressed.at_random(scene, issues=6, kills=15, seconds=60)
    verdict = checker.judged(fast / "history.jsonl")
    assert list(verdict.broken) == [], verdict
    assert verdict.figures["kills"] == 15


@pytest.mark.parametrize("how", ["forgotten", "damaged"])
async def test_databases_lost_between_two_processes_lose_nothing_and_repeat_nothing(fast: Path, how: str):
    random = Random(3)
    damage = Machine.forget if how == "forgotten" else spoiling(random)
    async with nurseries(1) as born, compressed.scene(fast, 8, compressed.weather(), born) as scene:
        scene.machine.between = now_and_then(damage, random, 0.5)
        await compressed.at_random(scene, issues=3, kills=8, seconds=60)
    assert list(checker.judged(fast / "history.jsonl").broken) == []


async def test_of_two_daemons_one_acts_even_after_the_other_was_suspended(fast: Path):
    async with nurseries(2) as born, compressed.scene(fast, 5, compressed.weather(), born, claim=60.0) as scene:
        await compressed.side_by_side(scene, issues=2)
    assert list(checker.judged(fast / "history.jsonl").broken) == []
