"""Measures how long one step holds the event loop in processor time of its thread: load of others does not count."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Stall:
    longest: float = 0.0
    """Seconds of the loop's thread between two heartbeats."""


@asynccontextmanager
async def measured_stall() -> AsyncIterator[Stall]:
    stall = Stall()
    is_over = asyncio.Event()

    async def beat() -> None:
        last = time.thread_time()
        while not is_over.is_set():
            await asyncio.sleep(0)
            now = time.thread_time()
            stall.longest, last = max(stall.longest, now - last), now

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(beat())
        await asyncio.sleep(0)
        yield stall
        is_over.set()
