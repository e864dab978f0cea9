"""A daemon at work, the scripted model that its agents ask, and browsers that people look at it with."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from bot.demo.model import Play, ScriptedModel
from tests.program.conftest import Person, model_env
from tests.program.test_webhooks import free_port

CHROMIUM = "/usr/bin/chromium"
QUIETLY = (
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
    "--disable-dev-shm-usage", "--disable-gpu", "--disable-sync", "--no-first-run",
)  # fmt: skip
SECONDS = 100
PATIENCE = SECONDS * 1000.0
TELL = "document.addEventListener('securitypolicyviolation', (e) => console.error(`CSP ${e.violatedDirective}`))"
NO_FAULT = ("net::ERR_", "422 (")
"""What Chromium says of a daemon that is not there, or that refuses what somebody typed."""


@dataclass
class Eyes:
    """One browser, and whatever it had to complain about."""

    browser: Browser
    origin: str
    complaints: list[str] = field(default_factory=list)

    async def look(self, key: str = "shop#1", more: str = "", **how) -> Page:
        """A person of their own opens the page of a run."""
        context = await self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        context.set_default_timeout(PATIENCE)
        page = await context.new_page()
        if how.get("java_script_enabled", True):
            await page.add_init_script(TELL)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda told: self.complaints.append(told.text) if told.type == "error" else None)
        await page.goto(f"{self.origin}/runs/{quote(key, safe='')}{more}")
        return page


@dataclass
class House:
    person: Person
    eyes: Eyes
    port: int
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
async def house(ready: Person) -> AsyncIterator[House]:
    expect.set_options(timeout=PATIENCE)
    port = free_port()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIETLY))
        house = House(ready, Eyes(browser, f"http://127.0.0.1:{port}"), port)
        async with house.open:
            yield house
            if house.daemon and house.daemon.returncode is None:
                house.daemon.terminate()
                await asyncio.wait_for(house.daemon.wait(), SECONDS)
        await browser.close()
    unexpected = [one for one in house.eyes.complaints if not any(sign in one for sign in NO_FAULT)]
    assert not unexpected, unexpected
