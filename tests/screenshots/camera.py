"""Takes pages as small pictures."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Page, ViewportSize, async_playwright

CHROMIUM = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
_ALONE = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run")
_DESK: ViewportSize = {"width": 1280, "height": 800}
_PHONE: ViewportSize = {"width": 390, "height": 800}
_TALL: ViewportSize = {"width": 1280, "height": 3000}
"""So that nothing lies over what is somewhere below."""
_LARGEST = 150_000


@dataclass
class Camera:
    browser: Browser
    album: Path

    async def take(self, name: str, url: str, *, dark: bool = False, phone: bool = False, part: str = "") -> None:
        """`part`: only this element."""
        size = _PHONE if phone else _TALL if part else _DESK
        async with self._open(url, size, dark=dark) as page:
            path = self.album / f"{name}.png"
            if part:
                await page.locator(part).screenshot(path=path, animations="disabled")
            else:
                await page.screenshot(path=path, animations="disabled")
            self._keep(path)

    @asynccontextmanager
    async def _open(self, url: str, size: ViewportSize, *, dark: bool) -> AsyncIterator[Page]:
        page = await self.browser.new_page(viewport=size, color_scheme="dark" if dark else "light", timezone_id="UTC")
        try:
            await page.goto(url)
            await page.evaluate("document.fonts.ready")
            yield page
        finally:
            await page.close()

    def _keep(self, path: Path) -> None:
        """Reduces the colours if pngquant is installed."""
        if shutil.which("pngquant"):
            words = ["--force", "--skip-if-larger", "--strip", "--speed=1", "--ext=.png", "--quality=80-100", "256"]
            subprocess.run(["pngquant", *words, str(path)], check=False, timeout=60)
        size = path.stat().st_size
        print(f"{path.name}: {size // 1000} KB", flush=True)
        if size > _LARGEST:
            raise SystemExit(f"{path.name} is too large for a page. Is pngquant there?")


@asynccontextmanager
async def camera(album: Path) -> AsyncIterator[Camera]:
    album.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ALONE))
        yield Camera(browser, album)
        await browser.close()
