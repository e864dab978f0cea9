"""Short form of `make chaos ONLY=stories`: one random story on each tracker, with kills and faults."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.chaos import random_stories
from tests.chaos.compressed import fast_folder
from tests.chaos.forked_machine import nurseries


@pytest.fixture
def fast() -> Iterator[Path]:
    with TemporaryDirectory(prefix="treehand-story-", dir=fast_folder()) as name:
        yield Path(name) / "scene"


@pytest.mark.parametrize(("kind", "seed"), [("github", 303), ("linear", 108)])
async def test_a_random_story_keeps_the_laws_and_comes_to_its_end_by_words_of_people(fast: Path, kind: str, seed: int):
    async with nurseries(2) as born:
        assert await random_stories.told(fast, seed, kind, born, deeds=10) == []
    deeds = (fast / "deeds.txt").read_text()
    assert "merged " in deeds or "treehand/" in deeds, "nothing was run"


async def test_the_laws_notice_what_is_left_and_what_is_untrue(fast: Path):
    """A label, a second pull request and money are changed behind the daemon's back."""
    async with nurseries(1) as born, random_stories.scene(fast, 1, "github", born) as story:
        for storm in story.storms:
            storm.over = True
        await story.machines[0].start()
        key = story.people.issues.open("Add a cart", by="ana")
        assert await random_stories.rested(story) == []
        await story.machines[0].stop()
        story.people.issues.label(key, "ai:queued")
        bill = story.machines[0].folder / "bill"
        bill.write_text(bill.read_text() + "a turn that nobody counted\n" * 5)
        broken = " ".join([*story.laws.at_rest(), *story.laws.at_the_end()])
        for words in ("shows", "is still", "the model was paid", "has worktrees"):
            assert words in broken
