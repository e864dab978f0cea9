"""`treehand clean`, `restore` and `backup`: remove what is over, bring back what was salvaged, keep a copy of all."""

import asyncio
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bot import app
from bot.cli.output import say
from bot.control.issue_keys import parse_key
from bot.domain.names import branch_for
from bot.domain.run import Run
from bot.domain.salvage import KEPT_DAYS, Salvaged
from bot.errors import NeedsHuman
from bot.maintenance import sweep as housekeeping
from bot.maintenance.backup import back_up, ensure_worth_it, write_backup
from bot.services.local.merge_git import receive
from bot.settings import ProjectSettings, Settings, load, settings_file
from bot.system import clock
from bot.system.locks import sole_owner
from bot.workspace.mirror import Mirror
from bot.workspace.paths import Places
from bot.workspace.push import push_as
from bot.workspace.workspaces import GitWorkspaces

_RUNS = 100
"""Of one issue; nobody asks that often."""
_LISTED = 20


def clean(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    if options.dry_run:
        for name in asyncio.run(_over(settings)):
            say(f"would remove {name}")
    else:
        with sole_owner(settings.state_dir):
            for sentence in asyncio.run(_sweep(settings)):
                say(sentence)
    for project in settings.projects:
        for one in _salvaged(settings, project):
            say(f"salvaged: {project.name} {one.ref} {one.commit[:10]} ({_described(one)})")
    _tell_of_what_is_not_ours(settings)


async def _sweep(settings: Settings) -> Sequence[str]:
    async with app.wired(settings, {}) as wired:
        done = [*await wired.house.sweep(), *await wired.house.tend()]
        await wired.release_claims()
        return done


async def _over(settings: Settings) -> Sequence[str]:
    """What a sweep would remove."""
    store = app.store_of(settings)
    try:
        workspaces = {project.name: _workspaces(settings, project) for project in settings.projects}
        return await housekeeping.over(settings, store, app.transcripts_of(settings), workspaces)
    finally:
        store.close()


def _described(one: Salvaged) -> str:
    files = "1 file" if one.files == 1 else f"{one.files} files"
    days = int((clock.now() - one.at) // clock.DAY) if one.at else 0
    age = "since today" if not days else "for a day" if days == 1 else f"for {days} days"
    where = "here and in the repository" if one.shared else "here"
    return f"{files}, kept {age} of {KEPT_DAYS}, {where}"


def _tell_of_what_is_not_ours(settings: Settings) -> None:
    for project in settings.projects:
        aside = Places(settings.state_dir, project.name).aside
        if aside.is_dir() and any(aside.iterdir()):
            say(f"not ours, and found in the way: look at {aside}, and remove what you do not need")


def _salvaged(settings: Settings, project: ProjectSettings) -> Sequence[Salvaged]:
    return asyncio.run(_workspaces(settings, project).shelf.look())


def _workspaces(settings: Settings, project: ProjectSettings) -> GitWorkspaces:
    return app.workspaces_of(settings, project, app.secrets_of(settings))


def backup(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    ensure_worth_it(settings.state_dir)
    if options.to == "-":
        write_backup(settings.state_dir, sys.stdout.buffer)
        return
    to = Path(options.to).absolute()
    if to.is_dir():
        to /= f"treehand-{datetime.fromtimestamp(clock.now(), UTC):%Y%m%dT%H%M%SZ}.tar.gz"
    made = back_up(settings.state_dir, to)
    say(f"{to}: {made.files:,} files, {to.stat().st_size / 1e6:.1f} MB")
    if made.left_out:
        say(f"{made.left_out:,} files were removed meanwhile, or may not be read from here")
    say(f"To restore it, unpack it into an empty {settings.state_dir}, as deploy/README.md shows. It holds your code.")


def restore(options: Namespace) -> None:
    """The newest salvaged work of an issue becomes a branch."""
    settings = load(settings_file(options.config))
    project, key = parse_key(settings, options.key)
    ref = _newest(settings, project, key)
    # for its whole time from now on, so that it does not go while it is on its way
    asyncio.run(_workspaces(settings, project).shelf.keep([ref], now=clock.now()))
    wanted = f"restored/{project.name}-{re.findall(r'[0-9]+', key)[-1]}".lower()
    if project.forge == "github":
        if not options.as_it_is:
            _refuse_held(settings, project, ref)
        branch = _to_github(settings, project, ref, wanted)
        print(f"{ref} is the branch {branch} of {project.repository} now: `git fetch` and `git switch {branch}`.")
    else:
        branch = _to_their_own(settings, project, ref, wanted)
        print(f"{ref} is the branch {branch} of your repository now: `git switch {branch}`.")


def _newest(settings: Settings, project: ProjectSettings, key: str) -> str:
    """Of the last run that left something; where this machine has nothing, of what the remote has."""
    ours = _of_issue(settings, project, key)
    if not ours and project.forge == "github":
        remote = asyncio.run(app.remote_of(settings, project))
        asyncio.run(_workspaces(settings, project).shelf.fetch(remote=remote))
        ours = _of_issue(settings, project, key)
    if not ours:
        raise NeedsHuman(f"Nothing was salvaged for {key}. `treehand clean` lists what there is.")
    return ours[-1].ref


def _of_issue(settings: Settings, project: ProjectSettings, key: str) -> Sequence[Salvaged]:
    """The newest last."""
    places, found = Places(settings.state_dir, project.name), _salvaged(settings, project)
    folders = [places.of(branch_for(Run(key, project.name, ordinal))).salvage for ordinal in range(1, _RUNS)]
    return [one for folder in folders for one in found if one.ref.rpartition("/")[0] + "/" == folder]


def _refuse_held(settings: Settings, project: ProjectSettings, ref: str) -> None:
    """What was held back would be public there."""
    workspaces = app.workspaces_of(settings, project, app.secrets_of(settings))
    held = asyncio.run(workspaces.objections_to(ref))
    if held:
        listed = "\n".join(f"  {one.rule}: {one.path or one.detail}" for one in held[:_LISTED])
        raise NeedsHuman(f"Some of it needs a person's eyes before it is pushed:\n{listed}\n--as-it-is pushes it.")


def _to_their_own(settings: Settings, project: ProjectSettings, ref: str, branch: str) -> str:
    desk = app.desk_of(settings)
    try:
        return receive(desk.repository(project.name), Places(settings.state_dir, project.name).mirror, ref, branch)
    finally:
        desk.close()


def _to_github(settings: Settings, project: ProjectSettings, ref: str, branch: str) -> str:
    remote = asyncio.run(app.remote_of(settings, project))
    return push_as(Mirror(Places(settings.state_dir, project.name).mirror), ref, branch, remote)
