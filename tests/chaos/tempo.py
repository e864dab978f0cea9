"""Time that passes faster: the one clock of a compressed storm, for its daemons, its GitHub and its history alike.

Compressed is whatever somebody waits for by this clock: the second between two writes, the minute until a comment of
which nothing is known has settled, GitHub's limits by the minute and by the hour, the lag of its lists, polls and
claims. All of it by the same factor, so that every ratio stays. Not compressed is what takes its time by itself (a
request, git, the disk, starting): a daemon in there works on a machine that seems that many times slower.
"""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.github.on_repositories import GitHubWorld

SPEED = 50.0


@dataclass(frozen=True)
class Tempo:
    origin: float
    speed: float = SPEED

    def now(self) -> float:
        return self.origin + (time.time() - self.origin) * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)


class FastWorld(GitHubWorld):
    def __init__(self, root: Path, tempo: Tempo) -> None:
        self.tempo = tempo
        super().__init__(root)

    @property
    def now(self) -> float:
        return self.tempo.now() + self.skew
