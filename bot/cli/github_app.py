"""`treehand init --app`: lets a person create a GitHub App in their browser, and stores its key on this machine."""

import asyncio
from pathlib import Path

from bot.cli.init_advice import site_of
from bot.cli.init_settings import AppCredentials, SettingsDraft
from bot.cli.kept_secrets import keep_secret, secret_file
from bot.cli.output import print_text
from bot.errors import BadSettings, CannotStart, Retryable
from bot.services.github.app_manifest import NewGitHubApp, exchange_code, manifest_for
from bot.services.github.connect import is_installed
from bot.settings.schema import Settings
from bot.web.github_app import AppRegistration
from bot.web.server import serving

_TIMEOUT_SECONDS = 900.0
_POLL_SECONDS = 2.0
_PAGE_SECONDS = 0.5


def create_app(draft: SettingsDraft, settings: Settings) -> AppCredentials:
    app = asyncio.run(_wait_for_app(draft, settings))
    key_file = _write_secret(app, f"{app.slug}-{app.id}.pem", app.key)
    secret_file = _write_secret(app, f"{app.slug}-{app.id}.webhook", app.webhook_secret) if app.webhook_secret else None
    print_text(f"Created the GitHub App {app.slug}. Its key is in {key_file}, readable by you only. Keep a copy.")
    print_text(f"Install it on {draft.repository}:\n    {app.install_page}")
    return AppCredentials(app.id, key_file, secret_file)


async def _wait_for_app(draft: SettingsDraft, settings: Settings) -> NewGitHubApp:
    """Raises CannotStart when nobody creates the App in time."""
    api_url, done = settings.github.api_url, asyncio.get_running_loop().create_future()

    async def take(code: str) -> str:
        app = await exchange_code(api_url, code)
        if not done.done():
            done.set_result(app)
        return app.install_page

    site = site_of(api_url)
    registration = AppRegistration(
        site,
        draft.repository.partition("/")[0],
        lambda back: manifest_for(f"treehand-{draft.name}", home=f"{site}/{draft.repository}", back=back),
        take,
    )
    async with serving(registration.app(), "127.0.0.1:0") as port:
        print_text(f"Open this page in a browser on this machine, within {_TIMEOUT_SECONDS / 60:.0f} minutes:")
        print_text(f"    {registration.address(port)}")
        print_text(
            f"If your browser is on another machine, run there: ssh -L {port}:127.0.0.1:{port} THIS-MACHINE", flush=True
        )
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                app: NewGitHubApp = await done
        except TimeoutError:
            raise CannotStart(
                "The App was not created in time, so nothing was written. Run `treehand init --app` again."
            ) from None
        await asyncio.sleep(_PAGE_SECONDS)  # lets the browser receive the last page
    return app


def _write_secret(app: NewGitHubApp, name: str, text: str) -> Path:
    file = secret_file(name)
    try:
        keep_secret(file, text)
    except OSError as exc:
        raise BadSettings(
            f"{file} cannot be written: {exc.strerror}. The App exists: create a new key for it on {app.page}."
        ) from exc
    return file


def wait_until_installed(settings: Settings) -> None:
    print_text("Waiting for the App to be installed. (After Ctrl-C, `treehand check` shows whether it is.)", flush=True)
    asyncio.run(_wait_until_installed(settings))


async def _wait_until_installed(settings: Settings) -> None:
    (project,) = settings.projects
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            while True:
                if await _is_installed(settings, project.name):
                    return
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        print_text("The App is not installed yet. Install it, then run: treehand check --fix")


async def _is_installed(settings: Settings, name: str) -> bool:
    try:
        return await is_installed(settings, name)
    except Retryable:
        return False
