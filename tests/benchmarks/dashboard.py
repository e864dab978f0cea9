"""The board with 500 runs: time to the first byte of its page, its size, and the delay of live updates.

Fifty agents act every second, and fifty pages are open, in a separate process.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from figures import Figure, middle

from bot.domain.run import Phase
from bot.domain.turn import Progress
from tests.web.running_dashboard import RunningDashboard, open_dashboard

RUNS, AGENTS, VIEWERS = 500, 50, 50
SECONDS = 15.0
LOOKS = 20


async def measure(folder: Path) -> list[Figure]:
    async with open_dashboard(folder) as web:
        _populate(web)
        alone = [await _first_byte(web) for _ in range(LOOKS)]
        async with _agents(web), _viewers(web) as viewers:
            busy = [await _first_byte(web) for _ in range(LOOKS)]
            shown = json.loads(await viewers.stdout.read())
        page = (await web.page("/")).content
    return [
        Figure(f"board of {RUNS} runs: first byte, no other viewers", middle(alone) * 1000, "ms", 100),
        Figure(f"... with {AGENTS} agents and {VIEWERS} viewers", middle(busy) * 1000, "ms", 100),
        Figure("... size of its page", len(page) / 1000, "KB", 300),
        Figure("delay of an agent's action on an open board, median", shown["middle"], "s", 1),
        Figure("... the longest delay", shown["most"], "s"),
        Figure("... actions seen by each viewer", shown["seen"], ""),
    ]


def _populate(web: RunningDashboard) -> None:
    phases = [Phase.WORKING] * AGENTS + [Phase.ASKING, Phase.REVIEW, Phase.QUEUED] * ((RUNS - AGENTS) // 3)
    for number, phase in enumerate(phases):
        run = web.run(f"Work number {number}", phase, turns_number=1, spend_usd=1.0, reason="because")
        if phase is Phase.WORKING:
            web.live[f"{run.id}/turn-1"] = Progress("begins")


async def _first_byte(web: RunningDashboard) -> float:
    """Measures after a change, so that no cached response counts."""
    await asyncio.sleep(0.5)
    web.dashboard.hub.notify()
    began = time.perf_counter()
    async with web.client.stream("GET", "/") as answer:
        async for _ in answer.aiter_raw():
            took = time.perf_counter() - began
            break
    return took


@asynccontextmanager
async def _agents(web: RunningDashboard) -> AsyncIterator[None]:
    async def work(turn: str, wait: float) -> None:
        await asyncio.sleep(wait)
        while True:
            web.live[turn] = replace(web.live[turn], action=f"deed at {time.time():.3f}")
            web.dashboard.publish_transcript_line(turn.rpartition("/")[0], json.dumps({"kind": "tool"}))
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(turn, at / AGENTS)) for at, turn in enumerate(web.live)]
        yield
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def _viewers(web: RunningDashboard) -> AsyncIterator[asyncio.subprocess.Process]:
    words = [str(Path(__file__).with_name("viewers.py")), str(web.client.base_url.port), str(VIEWERS), str(SECONDS)]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    yield process
    await process.wait()
