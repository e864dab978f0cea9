"""Settings that a running daemon takes over from its file, and those that take effect after a restart. Pure.

Rule: every key is in exactly one of the two lists. A key of the second list keeps the value that the daemon started
with, so that no part of it works by half of a change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.settings.load import known_keys
from bot.settings.schema import ProjectSettings, Settings

_PROJECT, _REGISTRY = "projects.", "registries."
_SECTIONS = tuple(name for name, field in Settings.model_fields.items() if hasattr(field.annotation, "model_fields"))

LIVE = frozenset(
    (
        "poll.interval", "limits.working", "limits.working_per_project", "limits.turn_minutes", "limits.stall_minutes",
        "limits.failures", "limits.ci_fixes", "limits.quiet_seconds", "limits.changed_files", "limits.changed_mb",
        "limits.free_disk_gb", "limits.setup_minutes", "limits.verify_minutes", "limits.verify_rounds",
        "budget.per_issue_usd", "budget.per_issue_tokens", "budget.per_issue_turns", "budget.per_issue_hours",
        "budget.per_day_usd", "budget.prices", "agent.model", "sandbox.hosts", "sandbox.setup_hosts",
        "sandbox.private_hosts", "sandbox.tools", "sandbox.install_versions",
        "sandbox.memory_gb", "sandbox.processes", "sandbox.file_gb", "notify.on", "notify.quiet", "notify.zone",
        "notify.digest_minutes", "notify.link", "log.level", "projects.protected", "projects.ci", "projects.setup",
        "projects.verify", "projects.teardown", "projects.services", "projects.run", "projects.copy",
        "projects.copy_from", "projects.pool",
    )
)  # fmt: skip
NEEDS_RESTART = frozenset(
    (
        "state_dir", "label", "limits.claim_seconds", "agent.kind", "agent.key_file", "sandbox.kind", "sandbox.ca_file",
        "github.api_url",
        "github.token_file", "github.app_id", "github.installation_id", "github.private_key_file",
        "github.webhook_secret_file", "github.marker_secret_file", "linear.api_url", "linear.api_key_file",
        "linear.oauth_token_file", "linear.webhook_secret_file", "linear.started", "linear.review", "linear.completed",
        "linear.back", "linear.people", "web.bind", "web.token_file", "web.login", "web.hosts", "web.user_header",
        "web.proxies", "notify.urls", "notify.urls_file", "log.format", "projects.name", "projects.tracker",
        "projects.repository", "projects.remote", "projects.base", "projects.trusted", "projects.team",
        "projects.linear_projects", "projects.default",
        "registries.host", "registries.token_env", "registries.token_file", "registries.auth", "registries.path",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The difference between the settings of a running daemon and its file."""

    settings: Settings
    """The settings of the file, with the old values of keys that need a restart."""
    applied: tuple[str, ...]
    """In words: what is in effect from now on."""
    waiting: tuple[str, ...]
    """Names of changed keys that take effect after a restart."""


def compare_settings(running: Settings, file: Settings) -> SettingsChange:
    before, after = _values(running), _values(file)
    names = [name for name in known_keys() if not name.startswith((_PROJECT, _REGISTRY))]
    changed = [name for name in names if before[name] != after[name]]
    applied = [_describe(name, before[name], after[name]) for name in changed if name in LIVE]
    waiting = [name for name in changed if name not in LIVE]
    projects = {one.name: one for one in file.projects}
    if [one.name for one in running.projects] != list(projects):
        waiting.append("projects")
    if running.registries != file.registries:
        waiting.append("registries")
    merged = []
    for one in running.projects:
        theirs = _compare_project(one, projects.get(one.name, one))
        merged.append(theirs.project)
        applied += theirs.applied
        waiting += theirs.waiting
    sections = {name: _with_live(getattr(running, name), getattr(file, name), f"{name}.") for name in _SECTIONS}
    settings = running.model_copy(update={**sections, "projects": tuple(merged)})
    return SettingsChange(settings, tuple(applied), tuple(dict.fromkeys(waiting)))


@dataclass(frozen=True, slots=True)
class _ProjectChange:
    project: ProjectSettings
    applied: list[str]
    waiting: list[str]


def _compare_project(running: ProjectSettings, file: ProjectSettings) -> _ProjectChange:
    before, after = _fields(running, _PROJECT), _fields(file, _PROJECT)
    changed = [name for name in before if before[name] != after[name]]
    words = [f"{running.name}: {_describe(name, before[name], after[name])}" for name in changed if name in LIVE]
    waiting = [name for name in changed if name not in LIVE]
    return _ProjectChange(_with_live(running, file, _PROJECT), words, waiting)


def _with_live(running: Any, file: Any, prefix: str) -> Any:
    fields = type(running).model_fields.items()
    live = [name for name, field in fields if f"{prefix}{field.alias or name}" in LIVE]
    return running.model_copy(update={name: getattr(file, name) for name in live})


def _values(settings: Settings) -> Mapping[str, object]:
    """Keyed like `limits.working`, without the projects."""
    own = {
        name: value
        for name, value in _fields(settings, "").items()
        if name not in {*_SECTIONS, "projects", "registries"}
    }
    sections = (_fields(getattr(settings, name), f"{name}.") for name in _SECTIONS)
    return own | {name: value for section in sections for name, value in section.items()}


def _fields(section: Any, prefix: str) -> dict[str, object]:
    fields = type(section).model_fields.items()
    return {f"{prefix}{field.alias or name}": getattr(section, name) for name, field in fields}


def _describe(name: str, before: object, after: object) -> str:
    if isinstance(before, tuple) and isinstance(after, tuple):
        return " ".join((name, *_signed("+=", after, before), *_signed("-=", before, after))).strip()
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        return f"{name} changed"
    return f"{name} = {_shown(after)} (was {_shown(before)})"


def _shown(value: object) -> str:
    if value in {"", None}:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _signed(sign: str, these: tuple[object, ...], those: tuple[object, ...]) -> Iterator[str]:
    if new := [str(one) for one in these if one not in those]:
        yield f"{sign} {', '.join(new)}"
