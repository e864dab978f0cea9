"""A real browser obeys what our page forbids: the way to GitHub and back must be none of it."""

import json
import shutil

import pytest
from playwright.async_api import async_playwright

from bot.services.github.app_manifest import manifest_for, take_over
from bot.web.github_app import Registration
from bot.web.server import serving
from tests.fakes.github import ServedGitHub
from tests.fakes.github.fixtures import github

__all__ = ["github"]


@pytest.mark.parametrize("words", ["Make it for the organization acme", "Make it for my own account"])
async def test_a_button_leads_to_github_and_back_to_a_link_that_installs_the_app(github: ServedGitHub, words: str):
    async def take(code: str) -> str:
        made = await take_over(github.enterprise_url, code)
        assert made.key.startswith("-----BEGIN")
        return made.install_page

    def manifest(back: str):
        return manifest_for("treehand-<shop>", home=f"{github.url}/acme/shop", back=back)

    registration = Registration(github.url, "acme", manifest, take)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium, "There is no Chromium: apt-get install chromium"
    async with serving(registration.pages(), "127.0.0.1:0") as port, async_playwright() as play:
        browser = await play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = await browser.new_page()
        await page.goto(registration.address(port))
        sent = await page.locator("input[name=manifest]").first.get_attribute("value")
        assert json.loads(sent or "")["name"] == "treehand-<shop>"
        await page.get_by_role("button", name=words).click()
        await page.get_by_role("heading", name="The App is made").wait_for()
        link = await page.get_by_role("link", name="Install it on your repositories").get_attribute("href")
        await browser.close()
    assert link == f"{github.url}/apps/treehand-shop/installations/new"
