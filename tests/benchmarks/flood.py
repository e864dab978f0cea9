"""A thousand issues labelled at once, with slots for three agents: agents at work, order, memory, time of ticks.

Tracker and forge are the real adapters over HTTP; agents are imaginary, so that only the bot is measured. The clock
advances when somebody sleeps.
"""

import time
from itertools import pairwise
from pathlib import Path

import psutil
from figures import Figure, middle

from bot.domain.policy import Policy
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Ports, Project
from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_cache
from bot.services.github.client import GitHubClient
from bot.services.github.forge import GitHubForge
from bot.services.github.repository import GitHubRepository, RepositoryRules
from bot.services.github.tracker import GitHubTracker
from bot.store.runs import RunStore
from tests.fakes.github import GitHubWorld, served
from tests.fakes.ports import FakeExecutor, FakeWorkspaces
from tests.fakes.world import World
from tests.services.github.scripted_server import FakeClock

ISSUES = 1000
CAP = 3
TURNS = 90
NAME, BOT = "acme/shop", "treehand-bot"


async def measure(folder: Path) -> list[Figure]:
    github_world = GitHubWorld(folder / "github")
    github_world.add_repository(NAME, ana="write", **{BOT: "write"})
    for number in range(ISSUES):
        github_world.open_issue(NAME, f"Fix {number}", "Please.", by="ana", labels=["ai"])
        github_world.advance(1)
    with served(github_world, validate=False) as github:
        clock = FakeClock(github_world.now)
        memory, store = open_cache(folder / "github.db"), RunStore.open(folder / "treehand.db")
        credential = TokenCredential(github.token_for(BOT))
        async with GitHubClient(github.url, credential, memory, clock=clock, sleep=clock.sleep) as service:
            repository = GitHubRepository(service, NAME, memory, rules=RepositoryRules("ai"), secret=b"of this bench")
            bench = _Bench(clock, store, repository, github.url)
            figures = await bench.measure()
        memory.close()
        store.close()
    return figures


class _Bench:
    def __init__(self, clock: FakeClock, store: RunStore, repository: GitHubRepository, url: str) -> None:
        self.clock, self.store, self.world = clock, store, World()
        policy = Policy(max_working=CAP, max_working_per_project=CAP, base="main")
        tracker, forge = GitHubTracker(repository), GitHubForge(repository, api_url=url)
        project = Project("shop", tracker, forge, FakeWorkspaces(self.world), policy, hand_over=self.world.by_hand)
        self.outside = Ports({"shop": project}, FakeExecutor(self.world), store)
        self.most = 0
        self.ticks: list[float] = []

    async def measure(self) -> list[Figure]:
        process = psutil.Process()
        async with Engine(self.outside, clock=self.clock, capacity=lambda: Capacity(CAP)) as engine:
            began = time.perf_counter()
            await self._tick(engine)
            first, before = time.perf_counter() - began, process.memory_info().rss
            while len(self.world.requests) < TURNS:
                for turn in self.world.running():
                    self.world.finish_turn(turn, files=())
                await self._tick(engine)
            grown = (process.memory_info().rss - before) / 1e6
            order = [_number(request.run_id) for request in self.world.requests.values()]
        return [
            Figure(f"{ISSUES} issues at once, cap {CAP}: maximum of agents at work", self.most, "", CAP),
            Figure("  started out of order, in groups of three", _out_of_order(order), "", 0),
            Figure("  growth of memory", grown, "MB", 50),
            Figure("  first tick (starts all runs)", first, "s"),
            Figure("  a later tick", middle(self.ticks[1:]), "s"),
        ]

    async def _tick(self, engine: Engine) -> None:
        began = time.perf_counter()
        await engine.tick()
        self.ticks.append(time.perf_counter() - began)
        self.most = max(self.most, len(self.world.running()))
        await engine.wait_until_idle()
        self.most = max(self.most, len(self.world.running()))
        self.clock.now += 1


def _out_of_order(order: list[int]) -> int:
    """Counts runs out of order. Runs that become due together may start in any order."""
    groups = [sorted(order[start : start + CAP]) for start in range(0, len(order), CAP)]
    flat = [number for group in groups for number in group]
    return sum(one > other for one, other in pairwise(flat))


def _number(run_id: str) -> int:
    return int(run_id.partition("#")[2].partition("/")[0])
