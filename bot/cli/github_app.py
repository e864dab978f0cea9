"""`treehand init --app`: a person presses a button in their browser, and there is a GitHub App whose key is here."""

import asyncio
import os
import re
from pathlib import Path

from bot.cli.init_advice import site_of
from bot.cli.init_settings import App, Draft
from bot.cli.output import say
from bot.errors import BadSettings, CannotStart, Retryable
from bot.services.github.app_manifest import Registered, manifest_for, take_over
from bot.services.github.connect import is_installed
from bot.settings import Settings
from bot.web.github_app import Registration
from bot.web.server import serving

KEYS = Path(".config/treehand")
"""Below the home of whoever types: outside every repository."""
_SECONDS = 900.0
_PAUSE = 2.0


def register(draft: Draft, settings: Settings) -> App:
    made = asyncio.run(_made(draft, settings))
    file = _keep(made, f"{made.slug}-{made.id}.pem", made.key)
    secret = _keep(made, f"{made.slug}-{made.id}.webhook", made.webhook_secret) if made.webhook_secret else None
    say(f"The App {made.slug} is made. Its key is in {file}: readable by you alone, and nowhere else. Keep a copy.")
    say(f"Install it on {draft.repository}:\n    {made.install_page}")
    return App(made.id, file, secret)


async def _made(draft: Draft, settings: Settings) -> Registered:
    """Waits for a person, and not for ever."""
    api_url, done = settings.github.api_url, asyncio.get_running_loop().create_future()

    async def take(code: str) -> str:
        made = await take_over(api_url, code)
        if not done.done():
            done.set_result(made)
        return made.install_page

    site = site_of(api_url)
    registration = Registration(
        site,
        draft.repository.partition("/")[0],
        lambda back: manifest_for(f"treehand-{draft.name}", home=f"{site}/{draft.repository}", back=back),
        take,
    )
    async with serving(registration.pages(), "127.0.0.1:0") as port:
        say(f"Open this in a browser on this machine, within {_SECONDS / 60:.0f} minutes:", flush=True)
        say(f"    {registration.address(port)}", flush=True)
        say(f"(The browser is on another machine? There: ssh -L {port}:127.0.0.1:{port} THIS-MACHINE)", flush=True)
        try:
            async with asyncio.timeout(_SECONDS):
                made: Registered = await done
        except TimeoutError:
            raise CannotStart(
                "Nobody made the App in time, so nothing was written. Begin again when you are ready."
            ) from None
        await asyncio.sleep(_PAUSE / 4)  # the page that says so is on its way to the browser
    return made


def _keep(made: Registered, name: str, text: str) -> Path:
    """Never over something else, and at no time readable by others."""
    folder = Path.home() / KEYS
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    try:
        there = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as exc:
        raise BadSettings(
            f"{file} cannot be written: {exc.strerror}. The App exists: make a new key for it on {made.page}."
        ) from exc
    with os.fdopen(there, "w", encoding="utf-8") as opened:
        opened.write(text)
    return file


def wait_until_installed(settings: Settings) -> None:
    """Somebody is about to do it in their browser."""
    say("Waiting until it is installed. (Ctrl-C: `treehand check` will say whether it is.)", flush=True)
    asyncio.run(_until_installed(settings))


async def _until_installed(settings: Settings) -> None:
    (project,) = settings.projects
    try:
        async with asyncio.timeout(_SECONDS):
            while True:
                if await _installed(settings, project.name):
                    return
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        say("Not yet. Install it, then: treehand check --fix")


async def _installed(settings: Settings, name: str) -> bool:
    try:
        return await is_installed(settings, name)
    except Retryable:
        return False
