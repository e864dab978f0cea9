"""The short form of `make chaos`: the installed daemon, killed where it hurts, and its history judged."""

from pathlib import Path

import pytest

from tests.chaos import checker, storms
from tests.fakes.github.schemas import folder

pytestmark = pytest.mark.skipif(folder() is None, reason="GitHub's schemas are not here")

WHERE_IT_HURTS = [("comment", "effect"), ("pull request", "effect")]


async def test_killed_where_it_hurts_nothing_is_lost_and_nothing_is_twice(tmp_path: Path):
    async with storms.scene(tmp_path / "scene", seed=7) as scene:
        never = await storms.at_moments(scene, WHERE_IT_HURTS, issues=1, seconds=120)
    verdict = checker.judged(tmp_path / "scene" / "history.jsonl")
    assert (never, list(verdict.broken)) == ([], []), verdict
    assert verdict.figures["kills"] == len(WHERE_IT_HURTS)
