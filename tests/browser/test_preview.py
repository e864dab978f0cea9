"""Preview in a real browser: a person starts a server on the run's page, opens it and stops it."""

import asyncio

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from tests.browser.dashboard_daemon import SECONDS, DashboardDaemon, daemon  # noqa: F401 - a fixture
from tests.browser.test_run_page import OFFERED, phase, press
from tests.program.test_setup import commit

SERVER = "exec python3 -u -m http.server $PORT --bind 127.0.0.1"


async def test_a_server_is_started_shown_and_stopped_and_ends_with_the_daemon(daemon: DashboardDaemon):  # noqa: F811
    commit(daemon.person, {".github/treehand.toml": f'run = {{web = "{SERVER}"}}\n'})
    await daemon.start_run(OFFERED)
    page, other = await daemon.open_run(), await daemon.open_run()
    await expect(phase(page)).to_have_text("In review")
    await press(page, "Start web")
    await expect(page.locator("#done")).to_contain_text("Server started.")
    for one in (page, other):
        await expect(one.locator("#show .printed")).to_contain_text("Serving HTTP on 127.0.0.1")
    await expect(other.get_by_role("button", name="Start web")).to_have_count(0)

    link = page.locator("#show a")
    async with page.context.expect_page() as opened:
        await link.click()
    there = await opened.value
    await expect(there.get_by_role("link", name="app.py")).to_be_visible()
    await there.goto(f"{await link.get_attribute('href')}app.py")
    await expect(there.locator("body")).to_have_text("answer = 42")
    assert await there.evaluate("window.opener") is None
    await expect(other.locator("#show .printed")).to_contain_text("GET /app.py")

    found = await Axe().run(page)
    assert found.response["violations"] == []
    await page.set_viewport_size({"width": 360, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await press(page, "Stop web")
    for one in (page, other):
        await expect(one.locator("#show")).to_contain_text("web has stopped: stopped")
    await expect(other.get_by_role("button", name="Start web")).to_be_visible()

    await press(page, "Start web")
    await expect(page.locator("#show .printed")).to_contain_text("Serving HTTP on 127.0.0.1")
    assert daemon.person.agents_alive()
    daemon.process.terminate()
    await asyncio.wait_for(daemon.process.wait(), SECONDS)
    assert daemon.person.agents_alive() == []
