"""`treehand clean` and `restore`: remove what is over, and bring back what was salvaged."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence

from bot import app
from bot.domain.run import Run
from bot.embedded.landing import receive
from bot.engine.names import branch_for
from bot.errors import NeedsHuman
from bot.locks import sole_owner
from bot.settings import ProjectSettings, Settings, load, settings_file
from bot.terminal.keys import full_key, parse_key
from bot.workspace.mirror import Mirror
from bot.workspace.places import Places
from bot.workspace.push import push_as
from bot.workspace.removal import branches_known
from bot.workspace.salvage import Salvaged, find_salvaged

_RUNS = 100
"""Of one issue; nobody asks that often."""
_LISTED = 20


def clean(options: Namespace) -> None:
    settings = load(settings_file(options.config))
    if options.dry_run:
        for project in settings.projects:
            for branch in _over(settings, project.name):
                print(f"would remove {branch}, its worktree and its leftovers")
    else:
        with sole_owner(settings.state_dir):
            for sentence in asyncio.run(_sweep(settings)):
                print(sentence)
    for project in settings.projects:
        for one in _salvaged(settings, project.name):
            print(f"salvaged: {project.name} {one.ref} {one.commit[:10]}")


async def _sweep(settings: Settings) -> Sequence[str]:
    async with app.wired(settings, {}) as wired:
        return await wired.sweep()


def _over(settings: Settings, project: str) -> Sequence[str]:
    """Branches whose run is over, and that a sweep would remove."""
    store = app.store_of(settings)
    keep = {branch_for(run) for run in store.active() if run.project == project}
    store.close()
    mirror = Mirror(Places(settings.state_dir, project).mirror)
    return sorted(set(branches_known(mirror)) - keep) if mirror.path.exists() else []


def _salvaged(settings: Settings, project: str) -> Sequence[Salvaged]:
    mirror = Mirror(Places(settings.state_dir, project).mirror)
    return find_salvaged(mirror) if mirror.path.exists() else ()


def restore(options: Namespace) -> None:
    """The newest salvaged work of an issue becomes a branch."""
    settings = load(settings_file(options.config))
    project, number = parse_key(settings, options.key)
    ref = _newest(settings, project, full_key(project, number))
    wanted = f"restored/{project.name}-{number}".lower()
    if project.forge == "github":
        if not options.as_it_is:
            _refuse_held(settings, project, ref)
        branch = _to_github(settings, project, ref, wanted)
        print(f"{ref} is the branch {branch} of {project.repository} now: `git fetch` and `git switch {branch}`.")
    else:
        branch = _to_their_own(settings, project, ref, wanted)
        print(f"{ref} is the branch {branch} of your repository now: `git switch {branch}`.")


def _newest(settings: Settings, project: ProjectSettings, key: str) -> str:
    places = Places(settings.state_dir, project.name)
    folders = [places.of(branch_for(Run(key, project.name, ordinal))).salvage for ordinal in range(1, _RUNS)]
    ours = [one.ref for one in _salvaged(settings, project.name) if one.ref.rpartition("/")[0] + "/" in folders]
    if not ours:
        raise NeedsHuman(f"Nothing was salvaged for {key}. `treehand clean` lists what there is.")
    return ours[-1]


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
