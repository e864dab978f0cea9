"""`treehand clean`: removes worktrees and caches of finished runs, and lists the salvaged work."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence

from bot import app
from bot.cli.output import print_text
from bot.cli.restore import list_salvaged, workspaces_of
from bot.cli.settings import load_settings
from bot.domain.salvage import RETENTION_DAYS, SalvagedWork
from bot.maintenance import sweep
from bot.settings.schema import Settings
from bot.store.build import open_store, open_transcripts
from bot.system import clock
from bot.system.locks import daemon_lock
from bot.workspace.paths import ProjectPaths


def clean(options: Namespace) -> None:
    settings = load_settings(options)
    if options.dry_run:
        for name in asyncio.run(_list_removable(settings)):
            print_text(f"would remove {name}")
    else:
        with daemon_lock(settings.state_dir):
            for sentence in asyncio.run(_sweep(settings)):
                print_text(sentence)
    for project in settings.projects:
        for work in list_salvaged(settings, project):
            print_text(f"salvaged: {project.name} {work.ref} {work.commit[:10]} ({_format_salvaged(work)})")
    _print_moved_aside(settings)


async def _sweep(settings: Settings) -> Sequence[str]:
    async with app.open_app(settings, {}) as running:
        sentences = [*await running.maintenance.sweep(), *await running.maintenance.sync_salvage()]
        await running.release_leases()
        return sentences


async def _list_removable(settings: Settings) -> Sequence[str]:
    store = open_store(settings)
    try:
        workspaces = {project.name: workspaces_of(settings, project) for project in settings.projects}
        return await sweep.list_removable(settings.state_dir, store, open_transcripts(settings), workspaces)
    finally:
        store.close()


def _format_salvaged(work: SalvagedWork) -> str:
    files = "1 file" if work.files == 1 else f"{work.files} files"
    days = int((clock.now() - work.at) // clock.DAY) if work.at else 0
    where = "on this machine and in the repository" if work.shared else "on this machine"
    return f"{files}, kept for {days} of {RETENTION_DAYS} days, {where}"


def _print_moved_aside(settings: Settings) -> None:
    for project in settings.projects:
        aside = ProjectPaths(settings.state_dir, project.name).aside
        if aside.is_dir() and any(aside.iterdir()):
            print_text(f"files that Treehand did not create were moved to {aside}: remove those that you do not need")
