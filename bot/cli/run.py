"""`treehand run` and `treehand once`: start the daemon, until a signal or until no work is left."""

import asyncio
import logging
import signal
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from bot.cli.check import git_version
from bot.control.repository_claims import claim_repositories
from bot.settings.credentials import ensure_key, model_environment
from bot.settings.dashboard_access import dashboard_bind, has_made_token, may_move_dashboard, record_dashboard
from bot.settings.find_file import settings_file
from bot.settings.load import load
from bot.settings.schema import Settings
from bot.settings.watch_file import SettingsFile
from bot.system import logs
from bot.system.descriptors import raise_limit
from bot.system.private_files import ensure_private_folder, refuse_foreign_folder

if TYPE_CHECKING:
    from bot.daemon import Daemon
    from bot.secret_scan.scanner import Secrets

log = logging.getLogger(__name__)


def run(options: Namespace) -> None:
    _start(options, lambda daemon: daemon.run(), serves=True)


def once(options: Namespace) -> None:
    _start(options, lambda daemon: daemon.once(), serves=False)


def _start(options: Namespace, call: "Callable[[Daemon], Awaitable[None]]", *, serves: bool) -> None:
    from bot.app import open_app
    from bot.daemon import Daemon
    from bot.secret_scan.build import load_secrets
    from bot.system.locks import daemon_lock

    watched = SettingsFile(path := settings_file(options.config))
    settings = load(path)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # before the daemon has started there is nothing to drain
    raise_limit()
    _ensure_startable(settings)

    async def start() -> None:
        async with open_app(settings, model_environment(settings), secrets) as app:
            await call(Daemon(app, watched))

    with daemon_lock(settings.state_dir):
        record_dashboard(settings, _choose_bind(settings) if serves else "")
        has_link = serves and has_made_token(settings)  # makes the token, which is a secret then
        secrets = load_secrets(settings)
        _open_log(settings, secrets, form=options.log_format or settings.log.format)
        if serves:
            _tell_where_the_dashboard_is(settings, has_link=has_link)
        try:
            asyncio.run(start())
        except BaseExceptionGroup as group:
            raise _first_cause(group) from group


def _open_log(settings: Settings, secrets: "Secrets", *, form: str) -> None:
    file = settings.state_dir / "treehand.log"
    logs.configure_logging(file=file, redact=secrets.redact, form=form, level=settings.log.level)
    if changed := ensure_private_folder(settings.state_dir):
        log.warning("state directory not private path=%s detail=%s", settings.state_dir, changed)


def _ensure_startable(settings: Settings) -> None:
    git_version()
    ensure_key(settings)
    refuse_foreign_folder(settings.state_dir)  # before anything is written there
    claim_repositories(settings)


def _choose_bind(settings: Settings) -> str:
    """Returns another free port if the default one is taken. A port that somebody has chosen is the only one."""
    from bot.web.server import find_free_port

    bind = settings.web.bind
    if not may_move_dashboard(settings):
        return bind
    host, _, port = bind.rpartition(":")
    return f"{host}:{find_free_port(host, int(port))}"


def _tell_where_the_dashboard_is(settings: Settings, *, has_link: bool) -> None:
    """Names a port that is not the usual one. The daemon itself logs the address once it listens."""
    if (bind := dashboard_bind(settings)) != settings.web.bind:
        log.warning("port taken, dashboard moved wanted=%s dashboard=http://%s", settings.web.bind, bind)
    if sys.stdout.isatty():
        from bot.cli.greeting import greet

        greet(settings, has_link=has_link)
    elif has_link:
        log.info("dashboard needs a login, `treehand login` prints a link")


def _first_cause(group: BaseExceptionGroup) -> BaseException:
    """Unwraps the groups of nested TaskGroups."""
    inner = group.exceptions[0]
    return _first_cause(inner) if isinstance(inner, BaseExceptionGroup) else inner
