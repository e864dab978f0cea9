"""`treehand restore`: turns the newest salvaged work of an issue into a branch of your repository."""

import asyncio
import re
from argparse import Namespace
from collections.abc import Sequence

from bot.cli.settings import load_settings
from bot.control.issue_keys import parse_run_key
from bot.domain.branch_name import branch_for
from bot.domain.run import Run
from bot.domain.salvage import SalvagedWork
from bot.errors import NeedsHuman
from bot.secret_scan.build import load_secrets
from bot.services.local.connect import open_local_server
from bot.services.local.merge_git import copy_as_branch
from bot.services.registry import forge_of, remote_of
from bot.settings.schema import ProjectSettings, Settings
from bot.system import clock
from bot.workspace.build import build_workspaces
from bot.workspace.mirror import Mirror
from bot.workspace.paths import ProjectPaths
from bot.workspace.push import push_ref_as
from bot.workspace.workspaces import GitWorkspaces

_MOST_RUNS = 100
"""Runs of one issue that are searched for salvaged work."""
_MOST_LISTED = 20


def restore(options: Namespace) -> None:
    settings = load_settings(options)
    project, key = parse_run_key(settings, options.key)
    ref = _find_newest(settings, project, key)
    # Saving it again restarts its retention time: it must not expire during the push.
    asyncio.run(workspaces_of(settings, project).salvage_store.restart_retention([ref], now=clock.now()))
    wanted = f"restored/{project.name}-{re.findall(r'[0-9]+', key)[-1]}".lower()
    if not forge_of(project).kept_here:
        if not options.as_it_is:
            _refuse_unapproved(settings, project, ref)
        branch = _push_to_github(settings, project, ref, wanted)
        print(f"{ref} is now the branch {branch} of {project.repository}: `git fetch` and `git switch {branch}`.")
    else:
        branch = _push_to_folder(settings, project, ref, wanted)
        print(f"{ref} is now the branch {branch} of your repository: `git switch {branch}`.")


def list_salvaged(settings: Settings, project: ProjectSettings) -> Sequence[SalvagedWork]:
    return asyncio.run(workspaces_of(settings, project).salvage_store.list())


def workspaces_of(settings: Settings, project: ProjectSettings) -> GitWorkspaces:
    return build_workspaces(settings, project, load_secrets(settings))


def _find_newest(settings: Settings, project: ProjectSettings, key: str) -> str:
    """Searches this machine first, then the repository on GitHub."""
    salvaged = _salvaged_for(settings, project, key)
    if not salvaged and not forge_of(project).kept_here:
        remote = asyncio.run(remote_of(settings, project))
        asyncio.run(workspaces_of(settings, project).salvage_store.fetch(remote=remote))
        salvaged = _salvaged_for(settings, project, key)
    if not salvaged:
        raise NeedsHuman(f"There is no salvaged work for {key}. `treehand clean --dry-run` lists all salvaged work.")
    return salvaged[-1].ref


def _salvaged_for(settings: Settings, project: ProjectSettings, key: str) -> Sequence[SalvagedWork]:
    """Returns the newest last."""
    paths, salvaged = ProjectPaths(settings.state_dir, project.name), list_salvaged(settings, project)
    folders = [
        paths.for_branch(branch_for(Run(key, project.name, ordinal))).salvage_prefix for ordinal in range(1, _MOST_RUNS)
    ]
    return [work for folder in folders for work in salvaged if work.ref.rpartition("/")[0] + "/" == folder]


def _refuse_unapproved(settings: Settings, project: ProjectSettings, ref: str) -> None:
    """Raises NeedsHuman if the publish guard objects: the branch would be public."""
    objections = asyncio.run(workspaces_of(settings, project).objections_to(ref))
    if objections:
        listed = "\n".join(
            f"  {objection.rule}: {objection.path or objection.detail}" for objection in objections[:_MOST_LISTED]
        )
        raise NeedsHuman(
            f"Review these changes before they are pushed:\n{listed}\n`--as-it-is` pushes them nevertheless."
        )


def _push_to_folder(settings: Settings, project: ProjectSettings, ref: str, branch: str) -> str:
    server = open_local_server(settings)
    try:
        return copy_as_branch(
            server.repository(project.name), ProjectPaths(settings.state_dir, project.name).mirror, ref, branch
        )
    finally:
        server.close()


def _push_to_github(settings: Settings, project: ProjectSettings, ref: str, branch: str) -> str:
    remote = asyncio.run(remote_of(settings, project))
    mirror = Mirror(ProjectPaths(settings.state_dir, project.name).mirror)
    mirror.author = remote.author or mirror.author
    return push_ref_as(mirror, ref, branch, remote, holds_ci=project.ci == "after-approval")
