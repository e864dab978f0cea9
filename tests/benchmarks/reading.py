"""Time to filter hidden text: 100,000 texts made to confuse the filter, and texts of GitHub's maximum length."""

import random
import time
from pathlib import Path

from figures import Figure, middle

from bot.text.invisible_characters import is_invisible
from bot.text.read_untrusted import read
from tests.escape.github_scene import scene_at
from tests.escape.loop_stall import measured_stall
from tests.fakes.github import GitHubWorld, served
from tests.services.github.github_bot import REPO
from tests.text.hidden import BITS, LONG, USUAL
from tests.text.rendered_by_github import is_read_as_shown, made_up

TEXTS, PIECES, TIMES = 100_000, 20, 5
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0xE0020, 0xE0080)}


async def measure(folder: Path) -> list[Figure]:
    stall = await _stall(folder)
    return [
        Figure(f"{TEXTS:,} texts filtered: with text that GitHub does not show", _hidden(), "texts", 0),
        Figure("loop stall under hostile input", stall * 1000, "ms", 100),
        Figure(f"{TEXTS:,} texts filtered: changed by a second filtering", _restless(), "texts", 0),
        Figure("64 KB of ordinary text filtered", middle([_seconds(USUAL) for _ in range(TIMES)]) * 1000, "ms", 50),
        Figure("64 KB of slow text filtered, the slowest", max(map(_best, LONG.values())) * 1000, "ms", 50),
    ]


async def _stall(folder: Path) -> float:
    """A hundred untrusted comments, each of 65 KB; processor time of the loop's thread between two heartbeats."""
    world = GitHubWorld(folder / "github")
    world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    world.user("eve")
    with served(world, validate=False) as github:
        async with scene_at(github, folder) as scene:
            scene.ask(body=LONG["'<b x=y>'"])
            await scene.tick()
            for text in (*LONG.values(), f"a{' ' * 65_000}b"):
                world.comment(REPO, scene.number, text[:65_000], by="eve")
            async with measured_stall() as stall:
                await scene.tick()
            return stall.longest


def _hidden() -> int:
    chance = random.Random(1)
    return sum(not is_read_as_shown(made_up(chance)) for _ in range(TEXTS))


def _restless() -> int:
    chance = random.Random(1)
    texts = ("".join(chance.choices(BITS, k=chance.randint(1, PIECES))) for _ in range(TEXTS))
    return sum(not _is_settled(read.__wrapped__(text).text) for text in texts)


def _is_settled(text: str) -> bool:
    """Checks that no hidden text is left and that reading is idempotent."""
    hidden = any(is_invisible(letter) and letter not in _JOINERS for letter in text)
    return not hidden and read.__wrapped__(text).text == text


def _best(text: str) -> float:
    return min(_seconds(text) for _ in range(TIMES))


def _seconds(text: str) -> float:
    began = time.process_time()
    read.__wrapped__(text)
    return time.process_time() - began
