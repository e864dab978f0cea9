"""Compressed time: the clock of a scenario, shared by its daemons, its GitHub and its history.

Compressed: every wait by this clock, such as the second between two writes, the minute until an unconfirmed comment has
settled, GitHub's rate limits, the lag of its lists, polls and leases. All have the same factor, so that every ratio
stays. Not compressed: requests, git, the disk, starting. A daemon seems to work on a slower machine.
"""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.github.repository_actions import GitHubWorld

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
