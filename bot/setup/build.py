"""Builds a project's worktree setup from the settings, and previews it before any run."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.settings.schema import ProjectSettings, Settings
from bot.system import clock
from bot.workspace.paths import ORIGIN, ProjectPaths

if TYPE_CHECKING:
    from bot.domain.ci_workflows import PowerfulWorkflow
    from bot.domain.remote import Remote
    from bot.domain.service import ServiceMounts
    from bot.domain.setup_plan import SetupPlan, SetupStep
    from bot.git.absent_content import AbsentContent
    from bot.sandbox.interface import Sandbox
    from bot.secret_scan.scanner import Secrets
    from bot.setup.install_versions import VersionInstaller
    from bot.setup.learn_hosts import LearnedSetup
    from bot.setup.plan import SetupOverrides
    from bot.setup.prepare import ProjectSetup
    from bot.setup.resources import SetupResources
    from bot.setup.services.choose import ServiceChoice
    from bot.setup.services.programs import InstalledServers
    from bot.setup.toolchains import Toolchains, ToolChoice
    from bot.workspace.workspaces import GitWorkspaces

_PROGRAM_SECONDS = 10.0
_REMOVE_SECONDS = 60.0
_INSTALL_SECONDS = 600.0
"""Longest installation of one version."""
OWN_TOOLCHAINS = "toolchains"
"""Folder below the state directory."""


@dataclass(frozen=True, slots=True)
class SetupPreview:
    """Setup of a project's worktrees as it would be now."""

    plan: "SetupPlan"
    is_installed: Callable[[str], bool]
    """True if the program exists where the steps run."""
    tools: "ToolChoice"
    """Versions of languages and build tools."""
    services: "ServiceChoice"
    """Databases and the like."""
    hosts: tuple[str, ...] = ()
    """Hosts that setup downloads from and that the sandbox does not allow."""
    setting: str = ""
    """Settings line that would allow them."""
    workflows: tuple["PowerfulWorkflow", ...] = ()
    """Workflows that would run an agent's code with secrets or write permissions."""
    absent: "AbsentContent | None" = None
    """Content that the base branch names and that is not there; None if that cannot be told."""

    def missing(self, steps: Sequence["SetupStep"]) -> Sequence[str]:
        """Programs that the steps need and that are missing."""
        needed = dict.fromkeys(tool for step in steps for tool in step.tools)
        return [tool for tool in needed if not (self.is_installed(tool) or self.tools.will_bring(tool))]


def build_setup(
    settings: Settings, project: ProjectSettings, workspaces: "GitWorkspaces", sandbox: "Sandbox", secrets: "Secrets"
) -> "ProjectSetup":
    from bot.setup.prepare import ProjectSetup

    resources = setup_resources(settings, project, sandbox, secrets)
    setup = ProjectSetup(workspaces.setup_access, overrides_of(project), resources)
    setup.learn_secrets()
    return setup


def setup_resources(
    settings: Settings, project: ProjectSettings, sandbox: "Sandbox", secrets: "Secrets"
) -> "SetupResources":
    from bot.setup.port_blocks import PortBlocks
    from bot.setup.resources import SetupResources
    from bot.system.processes import state_dir_id

    return SetupResources(
        sandbox,
        secrets,
        PortBlocks(settings.state_dir / "ports"),
        settings.state_dir / "caches" / project.name,
        state_dir_id(settings.state_dir / "agent"),
        clock.now,
        settings.limits.setup_minutes * 60,
        settings.limits.verify_minutes * 60,
        settings.setup_hosts,
        _run_program,
        _toolchains(settings),
        build_installer(settings),
        _installed_servers(settings),
    )


async def learn_hosts(
    settings: Settings, project: ProjectSettings, remote: "Remote", secrets: "Secrets"
) -> "LearnedSetup":
    """Sets the base branch up once, in a state directory of its own, with access to every public host."""
    from bot.sandbox.build import build_learning_sandbox
    from bot.sandbox.proxy.learned_hosts import LearnedHosts
    from bot.setup.learn_hosts import set_up_base
    from bot.system.locks import exclusive_lock
    from bot.system.trash import Trash
    from bot.workspace.build import build_workspaces

    learned, folder = LearnedHosts(), settings.state_dir / "learning"
    aside = settings.model_copy(update={"state_dir": folder / "state"})
    trash = Trash(folder / "trash")
    with exclusive_lock(settings.state_dir / "learning.lock"):
        trash.throw(aside.state_dir)  # an earlier command may have been killed
        aside.state_dir.mkdir(parents=True)
        workspaces = build_workspaces(aside, project, secrets)
        setup = build_setup(aside, project, workspaces, build_learning_sandbox(aside, learned), secrets)
        try:
            return await set_up_base(workspaces, setup, project.base, remote, learned)
        finally:
            trash.throw(aside.state_dir)
            trash.empty(seconds=_REMOVE_SECONDS)


def overrides_of(project: ProjectSettings) -> "SetupOverrides":
    from bot.setup.plan import SetupOverrides

    return SetupOverrides(
        project.setup,
        project.verify,
        project.teardown,
        project.copied,
        copy_from=project.copy_from or project.folder,
        is_repository=project.copy_from is None,
        servers=project.run,
        services=project.services,
    )


def preview_setup(settings: Settings, project: ProjectSettings) -> SetupPreview | None:
    """Reads the base branch as last fetched. Returns None if it was not fetched yet.

    Raises NeedsHuman if the repository cannot be read.
    """
    from bot.git.command import GitFailed
    from bot.git.unreadable import why_unreadable

    try:
        return _preview(settings, project)
    except GitFailed as problem:
        folder = project.folder or ProjectPaths(settings.state_dir, project.name).mirror
        raise why_unreadable(folder, folder / ".git", problem) or problem from problem


def _preview(settings: Settings, project: ProjectSettings) -> SetupPreview | None:
    from bot.domain.ci_workflows import find_powerful_workflows
    from bot.git.absent_content import find_absent
    from bot.git.commit_files import read_commit_files, resolve_commit
    from bot.setup.download_hosts import setup_hosts_line
    from bot.setup.plan import plan_setup
    from bot.setup.repository_files import RepositoryFiles
    from bot.setup.services.choose import choose

    for repository, names in _repositories(settings, project):
        if repository.exists() and (commit := resolve_commit(repository, *names)):
            found = read_commit_files(repository, commit)
            plan = plan_setup(RepositoryFiles(found.names, found.read), overrides_of(project))
            hosts = _blocked_hosts(plan, settings)
            setting = setup_hosts_line((*settings.sandbox.setup_hosts, *hosts)) if hosts else ""
            workflows = find_powerful_workflows(found.names, found.read) if project.folder is None else ()
            absent = find_absent(repository, commit) if project.folder else None
            tools = _toolchains(settings).choose(
                plan, build_installer(settings).program_for if plan.steps else _nothing
            )
            is_installed = partial(_is_installed, settings, tools.folders)
            services = choose(_installed_servers(settings), plan)
            return SetupPreview(plan, is_installed, tools, services, hosts, setting, workflows, absent)
    return None


def plan_of_clone(folder: Path, project: ProjectSettings) -> "SetupPlan | None":
    """Plans by the base branch of a person's clone. Returns None if it has no commit."""
    from bot.git.commit_files import read_commit_files, resolve_commit
    from bot.setup.plan import plan_setup
    from bot.setup.repository_files import RepositoryFiles

    repository = folder / ".git" if (folder / ".git").exists() else folder
    commit = resolve_commit(repository, *([f"refs/heads/{project.base}"] if project.base else []), "HEAD")
    if not commit:
        return None
    found = read_commit_files(repository, commit)
    return plan_setup(RepositoryFiles(found.names, found.read), overrides_of(project))


def _toolchains(settings: Settings) -> "Toolchains":
    """As the sandbox would find them."""
    from bot.setup.toolchains import Toolchains

    own = settings.state_dir / OWN_TOOLCHAINS
    if settings.sandbox.kind == "none":
        return Toolchains(lambda: os.pathsep.join(os.get_exec_path()), run_tool=_run_program, own_folder=own)
    from bot.sandbox.host_tools import find_tools

    search = partial(find_tools, settings.sandbox.tools, settings.state_dir)
    return Toolchains(lambda: search().path, run_tool=_run_program, own_folder=own)


def build_installer(settings: Settings) -> "VersionInstaller":
    from bot.setup.install_versions import VersionInstaller

    return VersionInstaller(
        settings.state_dir / OWN_TOOLCHAINS,
        settings.sandbox.install_versions,
        min(settings.limits.setup_minutes * 60, _INSTALL_SECONDS),
        settings.limits.free_disk_gb,
        clock.now,
    )


def _nothing(*_: object) -> str:
    """People who want no setup get no versions."""
    return ""


def _installed_servers(settings: Settings) -> "InstalledServers":
    """Without a sandbox, none: a service would be one of this machine, for everybody."""
    from bot.setup.services.programs import InstalledServers

    if settings.sandbox.kind == "none":
        return InstalledServers()
    from bot.sandbox.host_tools import find_tools

    return InstalledServers(lambda: find_tools(settings.sandbox.tools, settings.state_dir).path, _run_program)


def services_for(settings: Settings, plan: "SetupPlan", data: Path) -> "ServiceMounts | None":
    """Services of one worktree, with their data in this folder."""
    from bot.setup.services.choose import choose

    return choose(_installed_servers(settings), plan).mounts(data, plan.addresses)


def _blocked_hosts(plan: "SetupPlan", settings: Settings) -> tuple[str, ...]:
    if settings.sandbox.kind == "none":
        return ()
    from bot.setup.download_hosts import hosts_of_tools, missing_hosts

    return missing_hosts((*plan.hosts, *hosts_of_tools(plan.silent, _run_program)), settings.setup_hosts)


def _run_program(words: Sequence[str]) -> str:
    """Output of a program on this machine, without a person's settings; empty if it fails."""
    import subprocess
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as empty:
        environment = {"PATH": os.defpath, "HOME": empty}
        try:
            return subprocess.run(
                words, cwd=empty, env=environment, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=True
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return ""


def _repositories(settings: Settings, project: ProjectSettings) -> Sequence[tuple[Path, Sequence[str]]]:
    names = [project.base] if project.base else ["main", "master"]
    mirror = ProjectPaths(settings.state_dir, project.name).mirror, [f"{ORIGIN}{name}" for name in names]
    if project.folder is None:
        return [mirror]
    own = project.folder / ".git" if (project.folder / ".git").exists() else project.folder
    return [(own, [f"refs/heads/{project.base}"] if project.base else ["HEAD"]), mirror]


def _is_installed(settings: Settings, toolchains: Sequence[Path], tool: str) -> bool:
    if settings.sandbox.kind == "none":
        import shutil

        folders = [*(str(one / "bin") for one in toolchains), *os.get_exec_path()]
        return shutil.which(tool, path=os.pathsep.join(folders)) is not None
    from bot.sandbox.host_tools import find_tools, has_program

    return has_program(find_tools(settings.sandbox.tools, settings.state_dir, toolchains), tool)
