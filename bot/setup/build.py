"""How worktrees are made ready, by which settings; and what that would be, before any run."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bot.settings import ProjectSettings, Settings
from bot.system import clock
from bot.system.disk import Disk
from bot.workspace.paths import ORIGIN, Places

if TYPE_CHECKING:
    from bot.domain.setup_plan import Recipe, Step
    from bot.maintenance.fill_pools import Pools
    from bot.ports import Project
    from bot.sandbox.interface import Sandbox
    from bot.secret_scan.scanner import Secrets
    from bot.setup.plan import Wishes
    from bot.setup.prepare import WorktreeReadiness
    from bot.workspace.workspaces import GitWorkspaces

_ASKING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Prospect:
    """What would be done in a worktree of a project."""

    recipe: "Recipe"
    is_seen: Callable[[str], bool]
    """Is there such a program where it is run?"""
    hosts: tuple[str, ...] = ()
    """What setup downloads from, and may not reach."""
    setting: str = ""
    """The line that would allow it."""

    def missing(self, steps: Sequence["Step"]) -> Sequence[str]:
        """Programs that these need and would not find."""
        needed = dict.fromkeys(tool for step in steps for tool in step.tools)
        return [tool for tool in needed if not self.is_seen(tool)]


def readiness_of(
    settings: Settings, project: ProjectSettings, workspaces: "GitWorkspaces", sandbox: "Sandbox", secrets: "Secrets"
) -> "WorktreeReadiness":
    from bot.setup.means import Means
    from bot.setup.port_blocks import Blocks
    from bot.setup.prepare import WorktreeReadiness
    from bot.system.processes import house_of

    means = Means(
        sandbox,
        secrets,
        Blocks(settings.state_dir / "ports"),
        settings.state_dir / "caches" / project.name,
        house_of(settings.state_dir / "agent"),
        clock.now,
        settings.limits.setup_minutes * 60,
        settings.limits.verify_minutes * 60,
        settings.sandbox.setup_hosts,
        _asked,
    )
    readiness = WorktreeReadiness(workspaces.provisioning, wishes_of(project), means)
    readiness.learn()
    return readiness


def pools_of(
    settings: Settings, projects: Mapping[str, "Project"], workspaces: Mapping[str, "GitWorkspaces"], disk: Disk
) -> "Pools":
    from bot.maintenance.fill_pools import Pooled, Pools

    pooled = {}
    for one in settings.projects:
        readiness = cast("WorktreeReadiness", projects[one.name].readiness)
        pooled[one.name] = Pooled(projects[one.name], one.pool, one.base, workspaces[one.name], readiness)
    return Pools(settings.state_dir, pooled, disk)


def wishes_of(project: ProjectSettings) -> "Wishes":
    from bot.setup.plan import Wishes

    source, is_own = project.copy_from or project.folder, project.copy_from is None
    return Wishes(
        project.setup, project.verify, project.teardown, project.copied, source, is_own=is_own, run=project.run
    )


def prospect_of(settings: Settings, project: ProjectSettings) -> Prospect | None:
    """By the base as it was last seen; None: it has not been seen yet."""
    from bot.git.commit_files import committed, find_commit
    from bot.setup.download_hosts import as_setting
    from bot.setup.plan import recipe_for
    from bot.setup.repository_files import Files

    for repository, names in _where_it_may_be(settings, project):
        if repository.exists() and (commit := find_commit(repository, *names)):
            found = committed(repository, commit)
            files = Files(found.names, found.read)
            recipe = recipe_for(files, wishes_of(project))
            hosts = _not_reached(recipe, settings)
            setting = as_setting((*settings.sandbox.setup_hosts, *hosts)) if hosts else ""
            return Prospect(recipe, lambda tool: _is_seen(tool, settings), hosts, setting)
    return None


def _not_reached(recipe: "Recipe", settings: Settings) -> tuple[str, ...]:
    if settings.sandbox.kind == "none":
        return ()
    from bot.setup.download_hosts import hosts_of, missing

    return missing((*recipe.hosts, *hosts_of(recipe.silent, _asked)), settings.sandbox.setup_hosts)


def _asked(words: Sequence[str]) -> str:
    """What a program of the machine's prints, without a person's settings: a sandbox has none. Empty: it fails."""
    import subprocess
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as empty:
        environment = {"PATH": os.defpath, "HOME": empty}
        try:
            return subprocess.run(
                words, cwd=empty, env=environment, capture_output=True, text=True, timeout=_ASKING_SECONDS, check=True
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return ""


def _where_it_may_be(settings: Settings, project: ProjectSettings) -> Sequence[tuple[Path, Sequence[str]]]:
    names = [project.base] if project.base else ["main", "master"]
    mirror = Places(settings.state_dir, project.name).mirror, [f"{ORIGIN}{name}" for name in names]
    if project.folder is None:
        return [mirror]
    own = project.folder / ".git" if (project.folder / ".git").exists() else project.folder
    return [(own, [f"refs/heads/{project.base}"] if project.base else ["HEAD"]), mirror]


def _is_seen(tool: str, settings: Settings) -> bool:
    if settings.sandbox.kind == "none":
        import shutil

        return shutil.which(tool) is not None
    from bot.sandbox.host_tools import find_program, find_tools

    return find_program(find_tools(settings.sandbox.tools, settings.state_dir), tool)
