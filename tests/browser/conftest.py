"""Viewer: opens pages in Chromium and fails the test if a page breaks a rule."""

import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.program.conftest import person, program_seen, ready
from tests.web.running_dashboard import RunningDashboard, open_dashboard

__all__ = ["person", "program_seen", "ready"]

CHROMIUM = Path(os.environ.get("CHROMIUM") or "/usr/bin/chromium")
_ALONE = (
    "--no-sandbox",  # tests may run as root
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
)
SECONDS = 60
_VIOLATIONS = "addEventListener('securitypolicyviolation', event => console.error('CSP: ' + event.violatedDirective))"


@dataclass
class Viewer:
    """Opens pages and records their errors."""

    browser: Browser
    troubles: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    """What may stand in the console: a lost connection, where that is tried."""

    async def open(self, url: str, **how) -> Page:
        context = await self.browser.new_context(**how)
        context.set_default_timeout(SECONDS * 1000)
        await context.add_init_script(_VIOLATIONS)
        page = await context.new_page()
        page.on("console", lambda message: self._notice(message.type, message.text))
        page.on("pageerror", lambda error: self._notice("error", str(error)))
        page.on("dialog", lambda dialog: self._notice("error", f"dialog: {dialog.message}"))
        page.on("request", lambda asked: self._notice_request(url, asked.url))
        await page.goto(url)
        return page

    def _notice(self, kind: str, text: str) -> None:
        if kind == "error" and not any(words in text for words in self.expected):
            self.troubles.append(text)

    def _notice_request(self, home: str, asked: str) -> None:
        """Checks that a page sends requests only to its own daemon."""
        if not asked.startswith("/".join(home.split("/")[:3])):
            self.troubles.append(f"asked {asked}")


@pytest.fixture
async def viewer() -> AsyncIterator[Viewer]:
    assert CHROMIUM.exists(), f"There is no {CHROMIUM}: `apt-get install chromium`, or say where it is in CHROMIUM."
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=_ALONE, timeout=SECONDS * 1000)
        viewer = Viewer(browser)
        yield viewer
        await browser.close()
    assert viewer.troubles == []


@pytest.fixture
async def web(tmp_path) -> AsyncIterator[RunningDashboard]:
    async with open_dashboard(tmp_path) as web:
        yield web


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
