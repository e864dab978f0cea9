"""Cost of an idle hour of polls of a team in Linear, by the number of open runs; and of a burst of issues.

The stand-in counts requests and complexity by Linear's published formula and on its own clock. One hour of polls at
30 s is 120 of them.
"""

from pathlib import Path

from figures import Figure

from bot.domain.policy import Policy
from bot.domain.turn import TurnState
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.errors import Retryable
from bot.ports import Ports, Project
from bot.store.runs import RunStore
from tests.fakes.linear.fixtures import small_world
from tests.fakes.linear.server import ServedLinear, served
from tests.fakes.ports import FakeExecutor, FakeForge, FakeWorkspaces
from tests.fakes.world import World
from tests.services.linear.linear_bot import LinearBot

SIZES = (1, 10, 100)
LOOKS, UNTIL_IDLE = 120, 6
POLL = 30.0
BURST, CAP = 200, 4
REQUESTS, POINTS = 5000, 250_000
"""As Linear publishes them, for an hour; a bucket that was full holds as much again."""


async def measure(folder: Path) -> list[Figure]:
    figures = []
    for size in SIZES:
        figures += await _idle(folder / str(size), size)
    return [*figures, *await _burst(folder / "burst")]


async def _idle(folder: Path, size: int) -> list[Figure]:
    folder.mkdir()
    with served(small_world()) as linear:
        world = linear.world
        keys = [world.open_issue("ENG", "Fix it", "Please.", by="ana", labels=["ai"]).identifier for _ in range(size)]
        for key in keys:
            world.comment(key, "Looks good so far.", by="bob")
        bot = LinearBot(linear, folder)
        for _ in range(UNTIL_IDLE):
            await bot.tracker.snapshot(keys)
            world.advance(POLL)
        linear.history.clear()
        for _ in range(LOOKS):
            world.advance(POLL)
            await bot.tracker.snapshot(keys)
        await bot.close()
        asked, points = len(linear.history), sum(call.complexity for call in linear.history)
    return [
        Figure(f"idle poll of a team, {size} open runs: requests", asked / LOOKS, "", 1),
        Figure(f"idle hour of a team, {size} open runs: complexity", points, "points", 500),
    ]


async def _burst(folder: Path) -> list[Figure]:
    """Runs the real engine and tracker; agents, worktrees and pull requests are imaginary and quick."""
    folder.mkdir()
    with served(small_world()) as linear:
        for _ in range(BURST):
            linear.world.open_issue("ENG", "Fix it", "Please.", by="ana", labels=["ai"])
        bot, store = LinearBot(linear, folder), RunStore.open(folder / "treehand.db")
        offered = await _worked_through(linear, bot, store)
        await bot.close()
        store.close()
        requests, points = _most_in_an_hour(linear)
        refused = sum("RATELIMITED" in call.errors for call in linear.history)
        hours = (linear.history[-1].at - linear.history[0].at) / 3600
    return [
        Figure(f"{BURST} issues labelled at once: maximum of requests in an hour", requests, "", REQUESTS),
        Figure(f"{BURST} issues labelled at once: maximum of complexity in an hour", points, "points", 2 * POINTS),
        Figure(f"{BURST} issues labelled at once: requests refused by a rate limit", refused, "", 0),
        Figure(f"{BURST} issues labelled at once: issues without a pull request at the end", BURST - offered, "", 0),
        Figure(f"{BURST} issues labelled at once: time until all have one, by the service's clock", hours, "h"),
    ]


async def _worked_through(linear: ServedLinear, bot: LinearBot, store: RunStore) -> int:
    imaginary, policy = World(now=linear.world.now), Policy(max_working=CAP, max_working_per_project=CAP, base="main")
    project = Project(
        "shop", bot.tracker, FakeForge(imaginary), FakeWorkspaces(imaginary), policy, hand_over=imaginary.by_hand,
        issue_states=bot.tracker,
    )  # fmt: skip
    outside = Ports({"shop": project}, FakeExecutor(imaginary), store)
    async with Engine(outside, clock=bot.now, capacity=lambda: Capacity(CAP)) as engine:
        for _ in range(20 * BURST):
            imaginary.now = linear.world.now
            engine.expect_news()
            try:
                await engine.tick()
                await engine.wait_until_idle()
            except Retryable:
                pass
            for turn in [name for name, report in imaginary.turns.items() if report.state is TurnState.RUNNING]:
                imaginary.finish_turn(turn)
            if len(imaginary.pulls) >= BURST:
                break
            linear.world.advance(POLL)
    return len(imaginary.pulls)


def _most_in_an_hour(linear: ServedLinear) -> tuple[int, int]:
    calls = linear.history
    most, cost, first, points = 0, 0, 0, 0
    for last, call in enumerate(calls):
        points += call.complexity
        while call.at - calls[first].at >= 3600:
            points -= calls[first].complexity
            first += 1
        most, cost = max(most, last - first + 1), max(cost, points)
    return most, cost
