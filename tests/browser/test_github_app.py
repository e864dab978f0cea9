"""GitHub App registration in a real browser: the Content-Security-Policy allows the way to GitHub and back."""

import json
import shutil

import pytest
from playwright.async_api import async_playwright

from bot.services.github.app_manifest import exchange_code, manifest_for
from bot.web.github_app import AppRegistration
from bot.web.server import serving
from tests.fakes.github import ServedGitHub
from tests.fakes.github.fixtures import github

__all__ = ["github"]


@pytest.mark.parametrize("words", ["Create it for the organization acme", "Create it for your own account"])
async def test_a_button_leads_to_github_and_back_to_a_link_that_installs_the_app(github: ServedGitHub, words: str):
    async def take(code: str) -> str:
        made = await exchange_code(github.enterprise_url, code)
        assert made.key.startswith("-----BEGIN")
        return made.install_page

    def manifest(back: str):
        return manifest_for("treehand-<shop>", home=f"{github.url}/acme/shop", back=back)

    registration = AppRegistration(github.url, "acme", manifest, take)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium, "There is no Chromium: apt-get install chromium"
    async with serving(registration.app(), "127.0.0.1:0") as port, async_playwright() as play:
        browser = await play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = await browser.new_page()
        await page.goto(registration.address(port))
        sent = await page.locator("input[name=manifest]").first.get_attribute("value")
        assert json.loads(sent or "")["name"] == "treehand-<shop>"
        await page.get_by_role("button", name=words).click()
        await page.get_by_role("heading", name="App created").wait_for()
        link = await page.get_by_role("link", name="Install it on your repositories").get_attribute("href")
        await browser.close()
    assert link == f"{github.url}/apps/treehand-shop/installations/new"
