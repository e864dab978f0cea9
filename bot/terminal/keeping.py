"""`treehand clean` and `restore`: remove what is over, and bring back what was salvaged."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence

from bot import app
from bot.locks import sole_owner
from bot.settings import Settings, load, settings_file


def clean(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    if options.dry_run:
        for project in settings.projects:
            for branch in app.over(settings, project.name):
                print(f"would remove {branch}, its worktree and its leftovers")
    else:
        with sole_owner(settings.state_dir):
            for sentence in asyncio.run(_sweep(settings)):
                print(sentence)
    for project in settings.projects:
        for one in app.salvaged(settings, project.name):
            print(f"salvaged: {project.name} {one.ref} {one.commit[:10]}")


async def _sweep(settings: Settings) -> Sequence[str]:
    async with app.wired(settings, {}) as wired:
        return await wired.sweep()


def restore(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    desk = app.desk_of(settings)
    project, number = desk.parse_key(options.key)
    desk.close()
    ref, branch = app.restore(settings, project, number)
    print(f"{ref} is the branch {branch} of your repository now: `git switch {branch}`.")
