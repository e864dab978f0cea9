"""The real transport against a server that limits it at random, on a clock that advances when somebody sleeps.

The server records when the next request is allowed, and counts earlier ones.
"""

import random
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from bot.errors import NeedsHuman, RateLimited, Retryable
from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_cache
from bot.services.github.client import GitHubClient
from tests.benchmarks.figures import Figure
from tests.services.github.scripted_server import Asked, FakeClock, Says, served

REQUESTS = 10_000
_SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
_EVERYTHING, _CORE, _GRAPHQL = "everything", "core", "graphql"


@dataclass
class Found:
    requests: int = 0
    limits: int = 0
    early: int = 0
    """Requests before the time the server had named."""
    close: int = 0
    """Writes less than a second after the last."""
    crowded: int = 0
    """Writes beyond 80 in a minute or 500 in an hour."""
    hours: float = 0


class LimitedGitHub:
    """A server that knows the clock, but not how its limits are obeyed."""

    def __init__(self, clock: FakeClock, seed: int, ahead: float) -> None:
        self.clock, self.random, self.ahead = clock, random.Random(seed), ahead
        self.found = Found()
        self.allowed = {_EVERYTHING: 0.0, _CORE: 0.0, _GRAPHQL: 0.0}
        self.writes: list[float] = []

    def __call__(self, asked: Asked) -> Says:
        graphql = asked.path == "/graphql"
        resource = _GRAPHQL if graphql else _CORE
        self.found.requests += 1
        self.found.early += self.clock.now < max(self.allowed[_EVERYTHING], self.allowed[resource])
        if asked.verb != "GET" and not graphql:
            self._judge_write()
        if self.random.random() < 0.06:
            self.found.limits += 1
            return self._limit(resource)
        return Says(data={"data": {"a": 1}}, headers=self._dated(**{"x-ratelimit-resource": resource}))

    def _judge_write(self) -> None:
        now = self.clock.now
        self.found.close += bool(self.writes) and now - self.writes[-1] < 1
        self.writes.append(now)
        self.found.crowded += sum(at > now - 60 for at in self.writes[-81:]) > 80
        self.found.crowded += sum(at > now - 3600 for at in self.writes[-501:]) > 500

    def _dated(self, **headers: object) -> Mapping[str, str]:
        date = formatdate(int(self.clock.now + self.ahead), usegmt=True)
        return {"Date": date, **{name: str(value) for name, value in headers.items()}}

    def _until(self, name: str, seconds: float) -> None:
        self.allowed[name] = max(self.allowed[name], self.clock.now + seconds)

    def _limit(self, resource: str) -> Says:
        kind = self.random.choice(["seconds", "date", "odd", "unsaid", "reset", "past", "ok", "trouble", "broken"])
        status, seconds = self.random.choice([403, 429]), self.random.choice([1, 3, 8, 60, 600])
        server_now = self.clock.now + self.ahead
        match kind:
            case "seconds":
                self._until(_EVERYTHING, seconds)
                return Says(status, {"message": "slow"}, self._dated(**{"retry-after": seconds}))
            case "date":
                at = int(server_now) + seconds
                self._until(_EVERYTHING, at - server_now)
                return Says(status, {"message": "slow"}, self._dated(**{"retry-after": formatdate(at, usegmt=True)}))
            case "odd":
                seconds = self.random.choice([0, -5, 10**6])
                self._until(_EVERYTHING, min(max(seconds, 0), 3600))
                return Says(status, {"message": "slow"}, self._dated(**{"retry-after": seconds}))
            case "unsaid":
                self._until(_EVERYTHING, 60)
                return Says(status, _SECONDARY, self._dated())
            case "reset" | "ok":
                reset = int(server_now) + seconds
                self._until(resource, reset - server_now)
                left = {"x-ratelimit-remaining": 0, "x-ratelimit-reset": reset, "x-ratelimit-resource": resource}
                return Says(200 if kind == "ok" else status, {"data": {"a": 1}}, self._dated(**left))
            case "past":
                self._until(resource, 60)
                left = {"x-ratelimit-remaining": 0, "x-ratelimit-reset": int(server_now) - seconds}
                return Says(status, {"message": "used up"}, self._dated(**left))
            case "trouble":
                self._until(_EVERYTHING, seconds)
                return Says(503, {"message": "back soon"}, self._dated(**{"retry-after": seconds}))
            case _:
                return Says(200, raw=b'{"half', headers=self._dated())


async def simulate(requests: int, *, seed: int, ahead: float = 420.0) -> Found:
    """`ahead`: the seconds by which the server's clock is ahead of ours."""
    clock = FakeClock(1_700_000_000.25)
    judge, dice = LimitedGitHub(clock, seed, ahead), random.Random(seed + 1)
    began = clock.now
    with (
        tempfile.TemporaryDirectory(prefix="treehand-limits-") as folder,
        served(judge) as server,
        closing(open_cache(Path(folder) / "github.db")) as memory,
    ):
        async with GitHubClient(
            server.url, TokenCredential("stand-in"), memory, clock=clock, sleep=clock.sleep
        ) as github:
            while judge.found.requests < requests:
                await _one(github, clock, dice)
    judge.found.hours = (clock.now - began) / 3600
    return judge.found


async def _one(github: GitHubClient, clock: FakeClock, dice: random.Random) -> None:
    clock.now += dice.choice([0, 0, 0, 0.01, 0.3])
    try:
        match dice.randrange(10):
            case 0:
                await github.graphql("query { a }", {})
            case 1 | 2 | 3:
                await github.write("POST", "/repos/acme/shop/issues/1/comments", {}, repository="acme/shop")
            case _:
                await github.get("/repos/acme/shop/issues", repository="acme/shop")
    except RateLimited as limited:
        clock.now += dice.choice([limited.retry_after, limited.retry_after / 3, 1])
    except (Retryable, NeedsHuman):
        pass


async def measure(folder: Path) -> list[Figure]:
    found = await simulate(REQUESTS, seed=1)
    about = f"{found.requests} requests under {found.limits} limits"
    return [
        Figure(f"{about}: sent too early", found.early, "", 0),
        Figure(f"{about}: writes less than a second apart", found.close, "", 0),
        Figure(f"{about}: writes beyond 80 a minute or 500 an hour", found.crowded, "", 0),
        Figure(f"{about}: would have taken", found.hours, "h"),
    ]
