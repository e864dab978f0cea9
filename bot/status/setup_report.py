"""Setup report per project: detected steps, their reason, missing tools and hosts."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.domain.health import Health
from bot.errors import BotError
from bot.settings.schema import ProjectSettings, Settings
from bot.setup.build import SetupPreview, preview_setup
from bot.system.clock import steady
from bot.workspace.paths import ProjectPaths, list_ready, read_pool_error

_FRESH_SECONDS = 60.0


def report_setup(settings: Settings, project: ProjectSettings) -> Sequence[Health]:
    """Setup, verification, servers and pool of a project, before any run."""
    try:
        preview = preview_setup(settings, project)
    except BotError as problem:
        return [Health("setup", ok=False, detail=str(problem))]
    if preview is None:
        return [Health("setup", ok=True, detail="detection runs after the first fetch")]
    found = [_report_steps(preview), _report_checks(preview), _report_servers(preview)]
    if project.folder is None:
        found.append(_report_ci(preview, project))
    return [*found, _report_pool(settings, project)] if project.pool else found


@dataclass(slots=True)
class SetupReports:
    """Reports of all projects, cached for a minute because git and package managers are slow. Safe in any thread."""

    settings: Settings
    _latest: Mapping[str, Sequence[Health]] = field(default_factory=dict)
    _until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> Mapping[str, Sequence[Health]]:
        """Keyed by project."""
        with self._lock:
            if steady() >= self._until:
                self._latest = {one.name: report_setup(self.settings, one) for one in self.settings.projects}
                self._until = steady() + _FRESH_SECONDS
            return self._latest


def _report_steps(preview: SetupPreview) -> Health:
    plan = preview.plan
    lines = [f"{step} ({step.why})" for step in plan.steps] or ["no step is detected or configured"]
    missing = preview.missing(plan.steps)
    detail = f"{'; '.join([*lines, *plan.hints])}{_missing_tools(missing)}{_blocked_hosts(preview)}"
    return Health("setup", not (missing or preview.hosts), detail)


def _report_checks(preview: SetupPreview) -> Health:
    lines = [f"{step} ({step.why})" for step in preview.plan.checks]
    missing = preview.missing(preview.plan.checks)
    detail = f"{'; '.join(lines) or 'no command is detected or configured'}{_missing_tools(missing)}"
    return Health("verify", not missing, detail)


def _report_servers(preview: SetupPreview) -> Health:
    lines = [f"{called}: {step} ({step.why})" for called, step in preview.plan.servers.items()]
    return Health("run", ok=True, detail="; ".join(lines) or "no server is detected or configured")


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
