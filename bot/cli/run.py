"""`treehand run` and `treehand once`."""

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from bot.cli.check import git_version
from bot.settings import Settings, load, settings_file
from bot.settings.credentials import ensure_key, model_environment
from bot.system import logs

if TYPE_CHECKING:
    from bot.daemon import Daemon


def run(options: Namespace) -> None:
    _live(load(settings_file(options.config)), lambda daemon: daemon.run())


def once(options: Namespace) -> None:
    _live(load(settings_file(options.config)), lambda daemon: daemon.once())


def _live(settings: Settings, life: "Callable[[Daemon], Awaitable[None]]") -> None:
    from bot.app import secrets_of, wired
    from bot.daemon import Daemon
    from bot.system.locks import sole_owner

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # while nothing is begun there is nothing to drain
    git_version()
    ensure_key(settings)
    secrets = secrets_of(settings)

    async def live() -> None:
        async with wired(settings, model_environment(settings), secrets) as app:
            await life(Daemon(app))

    with sole_owner(settings.state_dir):
        log = settings.log
        logs.set_up(file=settings.state_dir / "treehand.log", redact=secrets.redact, form=log.format, level=log.level)
        try:
            asyncio.run(live())
        except BaseExceptionGroup as group:
            raise _first_cause(group) from group


def _first_cause(group: BaseExceptionGroup) -> BaseException:
    """What was raised in there, without the task groups it came through."""
    inner = group.exceptions[0]
    return _first_cause(inner) if isinstance(inner, BaseExceptionGroup) else inner
