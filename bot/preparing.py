"""How worktrees are made ready, by which settings; and what that would be, before any run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bot import clock
from bot.disk import Disk
from bot.settings import ProjectSettings, Settings
from bot.workspace.places import ORIGIN, Places

if TYPE_CHECKING:
    from bot.cells import Sandbox
    from bot.domain.leaks import Secrets
    from bot.domain.recipe import Recipe, Step
    from bot.pools import Pools
    from bot.ports import Project
    from bot.readiness.ready import WorktreeReadiness
    from bot.readiness.told import Wishes
    from bot.workspace.workspaces import GitWorkspaces


@dataclass(frozen=True, slots=True)
class Prospect:
    """What would be done in a worktree of a project."""

    recipe: "Recipe"
    is_seen: Callable[[str], bool]
    """Is there such a program where it is run?"""

    def missing(self, steps: Sequence["Step"]) -> Sequence[str]:
        """Programs that these need and would not find."""
        needed = dict.fromkeys(tool for step in steps for tool in step.tools)
        return [tool for tool in needed if not self.is_seen(tool)]


def readiness_of(
    settings: Settings, project: ProjectSettings, workspaces: "GitWorkspaces", sandbox: "Sandbox", secrets: "Secrets"
) -> "WorktreeReadiness":
    from bot.processes import house_of
    from bot.readiness.blocks import Blocks
    from bot.readiness.means import Means
    from bot.readiness.ready import WorktreeReadiness

    means = Means(
        sandbox,
        secrets,
        Blocks(settings.state_dir / "ports"),
        settings.state_dir / "caches" / project.name,
        house_of(settings.state_dir / "agent"),
        clock.now,
        settings.limits.setup_minutes * 60,
        settings.limits.verify_minutes * 60,
    )
    readiness = WorktreeReadiness(workspaces.provisioning, wishes_of(settings, project), means)
    readiness.learn()
    return readiness


def pools_of(
    settings: Settings, projects: Mapping[str, "Project"], workspaces: Mapping[str, "GitWorkspaces"], disk: Disk
) -> "Pools":
    from bot.pools import Pooled, Pools

    pooled = {}
    for one in settings.projects:
        readiness = cast("WorktreeReadiness", projects[one.name].readiness)
        pooled[one.name] = Pooled(projects[one.name], one.pool, one.base, workspaces[one.name], readiness)
    return Pools(settings.state_dir, pooled, disk)


def wishes_of(settings: Settings, project: ProjectSettings) -> "Wishes":
    """What is found is run unasked where it can download what it needs."""
    from bot.readiness.told import Wishes

    source, is_own = project.copy_from or project.folder, project.copy_from is None
    unasked = bool(settings.sandbox.setup_hosts) or settings.sandbox.kind == "none"
    return Wishes(
        project.setup, project.verify, project.teardown, project.copied, source, is_own=is_own, unasked=unasked
    )


def prospect_of(settings: Settings, project: ProjectSettings) -> Prospect | None:
    """By the base as it was last seen; None: it has not been seen yet."""
    from bot.readiness.files import Files
    from bot.readiness.told import recipe_for
    from bot.workspace.committed import committed, find_commit

    for repository, names in _where_it_may_be(settings, project):
        if repository.exists() and (commit := find_commit(repository, *names)):
            found = committed(repository, commit)
            recipe = recipe_for(Files(found.names, found.read), wishes_of(settings, project))
            return Prospect(recipe, lambda tool: _is_seen(tool, settings))
    return None


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
    from bot.sandbox.tools import find_program, find_tools

    return find_program(find_tools(settings.sandbox.tools, settings.state_dir), tool)
