"""Setup report per project: detected steps, their reason, missing tools and hosts."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from bot.domain.health import Health
from bot.domain.setup_plan import SetupStep
from bot.errors import BotError
from bot.git.absent_content import AbsentContent
from bot.settings.schema import ProjectSettings, Settings
from bot.setup.build import SetupPreview, preview_setup
from bot.system.clock import steady
from bot.text.invisible_characters import printable_path
from bot.workspace.paths import ProjectPaths, list_ready, read_pool_error

_FRESH_SECONDS = 60.0
_MAX_NAMED = 3
_TOKEN_FILES = frozenset(
    {".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".netrc", "pip.conf", "uv.toml", "auth.json", "NuGet.Config"}
    | {"nuget.config", "settings.xml", "credentials.toml", "gradle.properties"}
)
"""Names of files in which package managers keep tokens for registries."""


def report_setup(settings: Settings, project: ProjectSettings) -> Sequence[Health]:
    """Setup, verification, servers and pool of a project, before any run."""
    try:
        preview = preview_setup(settings, project)
    except BotError as problem:
        return [Health("setup", ok=False, detail=str(problem))]
    if preview is None:
        return [Health("setup", ok=True, detail="detection runs after the first fetch")]
    found = [_report_steps(preview), _report_versions(preview), _report_checks(preview), _report_servers(preview)]
    if preview.services.lines:
        found.append(_report_services(preview))
    if preview.absent and project.folder:
        found.append(_report_content(preview.absent, preview, project.folder))
    if holding := [name for name in preview.plan.copy if PurePath(name).name in _TOKEN_FILES]:
        found.append(_report_copies(holding))
    if project.folder is None:
        found.append(_report_ci(preview, project))
    return [*found, _report_pool(settings, project)] if project.pool else found


@dataclass(slots=True)
class SetupReports:
    """Reports of all projects, cached for a minute because git and package managers are slow. Safe in any thread."""

    settings: Settings
    _latest: Mapping[str, Sequence[Health]] = field(default_factory=dict)
    _until: float = 0.0
    _read_with: Sequence[object] = ()
    """The sections that the reports depend on."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> Mapping[str, Sequence[Health]]:
        """Keyed by project."""
        with self._lock:
            sections = (self.settings.sandbox, self.settings.projects)
            if steady() >= self._until or sections != self._read_with:
                self._read_with = sections
                self._latest = {one.name: report_setup(self.settings, one) for one in self.settings.projects}
                self._until = steady() + _FRESH_SECONDS
            return self._latest


def _report_steps(preview: SetupPreview) -> Health:
    plan = preview.plan
    lines = [f"{step} ({step.why})" for step in plan.steps] or ["no step is detected or configured"]
    missing = preview.missing(plan.steps)
    listed = "; ".join([*lines, *_not_chosen(plan.other_steps), *plan.hints])
    detail = f"{listed}{_missing_tools(missing)}{_blocked_hosts(preview)}"
    return Health("setup", not (missing or preview.hosts), detail)


def _report_versions(preview: SetupPreview) -> Health:
    tools = preview.tools
    used = [f"{one.tool} {one}" for one in tools.used]
    lines = [*tools.missing, *tools.planned.values(), *tools.notes, *used]
    detail = "; ".join(lines) or "the repository asks for no version"
    return Health("versions", not (tools.missing and any(step.tools for step in preview.plan.steps)), detail)


def _report_checks(preview: SetupPreview) -> Health:
    plan = preview.plan
    lines = [f"{step} ({step.why})" for step in plan.checks] or ["no command is detected or configured"]
    missing = preview.missing(plan.checks)
    detail = f"{'; '.join([*lines, *_not_chosen(plan.other_checks)])}{_missing_tools(missing)}"
    return Health("verify", not missing, detail)


def _not_chosen(steps: Sequence[SetupStep]) -> Sequence[str]:
    """Other commands that the repository's files name: a person may know better."""
    return [f"not chosen: {step} ({step.why})" for step in steps]


def _report_content(absent: AbsentContent, preview: SetupPreview, folder: Path) -> Health:
    """Files that the base branch names and that no agent would see."""
    brings_submodules = any("submodule" in step.command for step in preview.plan.steps)
    submodules = () if brings_submodules else absent.submodules
    lines = []
    if absent.lfs_missing:
        count = f"{len(absent.lfs_missing)} of {absent.lfs_files} files under Git LFS"
        lines.append(f"{count} have no object here ({_some(absent.lfs_missing)}): run `git lfs fetch` in {folder}")
    if submodules:
        update = "git submodule update --init --recursive"
        lines.append(f"submodules are not checked out ({_some(submodules)}): run `{update}` in {folder}")
    return Health("content", not lines, "; ".join(lines) or "all files of the base branch are there")


def _some(paths: Sequence[bytes]) -> str:
    shown = ", ".join(printable_path(path) for path in paths[:_MAX_NAMED])
    return f"{shown}, ..." if len(paths) > _MAX_NAMED else shown


def _report_copies(holding: Sequence[str]) -> Health:
    """Never a problem: the operator decides."""
    named = ", ".join(printable_path(name.encode()) for name in holding)
    better = "With `[[registries]]`, a token stays on the host"
    return Health("copy", ok=True, detail=f"agents can read the tokens in {named}. {better}")


def _report_servers(preview: SetupPreview) -> Health:
    lines = [f"{called}: {step} ({step.why})" for called, step in preview.plan.servers.items()]
    return Health("run", ok=True, detail="; ".join(lines) or "no server is detected or configured")


def _report_services(preview: SetupPreview) -> Health:
    return Health("services", not preview.services.missing, "; ".join(preview.services.lines))


def _report_ci(preview: SetupPreview, project: ProjectSettings) -> Health:
    """Never a problem: the operator decides, and the report states the risk."""
    powerful = "; ".join(map(str, preview.workflows))
    if project.ci == "at-once":
        what = "workflows run what the agent wrote as soon as it is pushed"
        hint = f', with secrets or write permissions in {powerful}. See `ci = "after-approval"`' if powerful else ""
        return Health("ci", ok=True, detail=f"{what}{hint}")
    loose = "; ".join(str(one) for one in preview.workflows if not one.is_held)
    what = "workflows wait for an approval"
    return Health("ci", ok=True, detail=f"{what}, except on events that no commit can skip: {loose}" if loose else what)


def _report_pool(settings: Settings, project: ProjectSettings) -> Health:
    places = ProjectPaths(settings.state_dir, project.name)
    trouble, ready = read_pool_error(places), len(list_ready(places))
    why = f". The pool is not filled: {trouble}" if trouble else ""
    return Health("pool", not trouble, f"{ready} of {project.pool} worktrees are ready{why}")


def _missing_tools(missing: Sequence[str]) -> str:
    return f". Not in the sandbox: {', '.join(missing)}; see `sandbox.tools`" if missing else ""


def _blocked_hosts(preview: SetupPreview) -> str:
    if not preview.hosts:
        return ""
    return (
        f". It downloads from hosts that it may not reach: add `{preview.setting}` under `[sandbox]`, or "
        "`setup = false` to the project to continue without setup"
    )
