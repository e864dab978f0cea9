"""Starts a daemon with a scripted model and opens the page of its run in a browser."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from bot.demo.scripted_model import Script, ScriptedModel
from tests.browser.conftest import Viewer, free_port
from tests.program.conftest import Person, model_env

SECONDS = 100
EXPECTED_MESSAGES = ("net::ERR_", "422 (")
"""Console messages of Chromium about a stopped daemon or a refused form."""


@dataclass
class DashboardDaemon:
    person: Person
    viewer: Viewer
    port: int = field(default_factory=free_port)
    model: ScriptedModel | None = None
    process: asyncio.subprocess.Process | None = None
    open: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def start_run(
        self, play: Script, *, title: str = "The answer is wrong", labels: tuple[str, ...] = ("ai",)
    ) -> None:
        """Opens an issue and starts the model and the daemon that works on it."""
        self.model = await self.open.enter_async_context(ScriptedModel(play))
        named = [word for label in labels for word in ("--label", label)]
        await self.person.does("issue", "new", title, "--body", "Make it 42.", *named)
        await self.start()
        async with asyncio.timeout(SECONDS):
            while not self.person._phase("shop#1"):
                await asyncio.sleep(0.05)

    async def start(self) -> None:
        env = {**model_env(self.model), "TREEHAND_WEB__BIND": f"127.0.0.1:{self.port}"}
        self.process = await self.person.start("run", **env)
        async with asyncio.timeout(SECONDS):
            while not await _answers(self.port):
                await asyncio.sleep(0.1)

    async def open_run(self, more: str = "", **how) -> Page:
        """Opens the page of the run in a new browser context."""
        key = quote("shop#1", safe="")
        size = {"viewport": {"width": 1280, "height": 900}}
        return await self.viewer.open(f"http://127.0.0.1:{self.port}/runs/{key}{more}", **{**size, **how})

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    async def issue(self) -> str:
        return await self.person.does("issue", "show", "1")


async def _answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        return True
    return False


@pytest.fixture
async def daemon(ready: Person, viewer: Viewer) -> AsyncIterator[DashboardDaemon]:
    expect.set_options(timeout=SECONDS * 1000)
    viewer.expected = EXPECTED_MESSAGES
    daemon = DashboardDaemon(ready, viewer)
    async with daemon.open:
        yield daemon
        if daemon.process and daemon.process.returncode is None:
            daemon.process.terminate()
            await asyncio.wait_for(daemon.process.wait(), SECONDS)
