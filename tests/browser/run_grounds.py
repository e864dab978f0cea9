"""A daemon at work, the scripted model that its agents ask, and people who look at a run of it in a browser."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from bot.demo.model import Play, ScriptedModel
from tests.browser.conftest import Viewer, free_port
from tests.program.conftest import Person, model_env

SECONDS = 100
NO_FAULT = ("net::ERR_", "422 (")
"""What Chromium says of a daemon that is not there, or that refuses what somebody typed."""


@dataclass
class House:
    person: Person
    viewer: Viewer
    port: int = field(default_factory=free_port)
    model: ScriptedModel | None = None
    daemon: asyncio.subprocess.Process | None = None
    open: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def begin(self, play: Play, *, title: str = "The answer is wrong", labels: tuple[str, ...] = ("ai",)) -> None:
        """An issue, a model that answers, and a daemon that takes it up."""
        self.model = await self.open.enter_async_context(ScriptedModel(play))
        named = [word for label in labels for word in ("--label", label)]
        await self.person.does("issue", "new", title, "--body", "Make it 42.", *named)
        await self.start()
        async with asyncio.timeout(SECONDS):
            while not self.person._phase("shop#1"):
                await asyncio.sleep(0.05)

    async def start(self) -> None:
        env = {**model_env(self.model), "TREEHAND_WEB__BIND": f"127.0.0.1:{self.port}"}
        self.daemon = await self.person.start("run", **env)
        async with asyncio.timeout(SECONDS):
            while not await _answers(self.port):
                await asyncio.sleep(0.1)

    async def look(self, more: str = "", **how) -> Page:
        """A person of their own opens the page of the run."""
        key = quote("shop#1", safe="")
        size = {"viewport": {"width": 1280, "height": 900}}
        return await self.viewer.open(f"http://127.0.0.1:{self.port}/runs/{key}{more}", **{**size, **how})

    async def kill(self) -> None:
        self.daemon.kill()
        await self.daemon.wait()

    async def issue(self) -> str:
        return await self.person.does("issue", "show", "1")


async def _answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        return True
    return False


@pytest.fixture
async def house(ready: Person, viewer: Viewer) -> AsyncIterator[House]:
    expect.set_options(timeout=SECONDS * 1000)
    viewer.expected = NO_FAULT
    house = House(ready, viewer)
    async with house.open:
        yield house
        if house.daemon and house.daemon.returncode is None:
            house.daemon.terminate()
            await asyncio.wait_for(house.daemon.wait(), SECONDS)
