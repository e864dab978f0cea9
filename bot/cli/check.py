"""`treehand check`: is everything ready, and what is still in the way, each with its mend."""

import asyncio
import json
import re
import subprocess
from argparse import Namespace
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile
from typing import Any, Protocol

from bot.app import agent_version, desk_of, inspect_github, store_of
from bot.cli.output import say
from bot.errors import BotError, CannotStart
from bot.git.command import MINIMUM, NO_GIT
from bot.sandbox.build import folders_not_shown, try_sandbox
from bot.services.linear.connect import team_findings
from bot.services.local.server import Desk
from bot.settings import ProjectSettings, Settings, load, settings_file
from bot.settings.credentials import ensure_key
from bot.status.setup_report import outlook_of
from bot.status.snapshot import what_was_damaged
from bot.system.disk import Disk, shown_sizes
from bot.system.locks import unusable
from bot.workspace.paths import Places

_COUNTING_SECONDS = 3.0
"""Spent at most on counting what some folders take."""
_FOLDERS = ("transcripts", "evidence", "forge", "caches", "trash", "aside")
"""What no one project has for itself, or nobody looks into."""


class Inspect(Protocol):
    def __call__(
        self, settings: Settings, project: ProjectSettings, *, fix: bool
    ) -> Coroutine[Any, Any, Sequence[tuple[str, bool, str]]]: ...


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    ok: bool
    detail: str
    probes: tuple[Mapping[str, object], ...] = ()
    """Of the sandbox: what tried to get out, each with whether it held."""

    def as_dict(self) -> dict[str, object]:
        return {"ok": self.ok, "detail": self.detail, **({"probes": self.probes} if self.probes else {})}


def check(options: Namespace) -> int:
    findings = _findings(options)
    if options.json:
        print(json.dumps({one.name: one.as_dict() for one in findings}))
    else:
        for one in findings:
            say(f"{'ok   ' if one.ok else 'WRONG'}  {one.name:<12} {one.detail}")
    return 0 if all(one.ok for one in findings) else 1


def _findings(options: Namespace) -> list[Finding]:
    settings = load(settings_file(options.config))
    checks: list[tuple[str, Callable[[Settings], str]]] = [
        ("settings", lambda _: str(settings_file(options.config).resolve())),
        ("git", _git),
        ("repository", places_of),
        ("database", _database),
        ("agent", _agent),
        ("model", _model),
        ("disk", _disk),
    ]
    if not (place := _find("state_dir", _state_dir, settings)).ok:  # hardly anything can be looked at without it
        return [*(_find(name, look, settings) for name, look in checks[:2]), place]
    found = [*(_find(name, look, settings) for name, look in checks), _sandbox(settings)]
    found += [_disk_of(settings, project) for project in settings.projects]
    for project in settings.projects:
        found += _outlook_of(settings, project)
    for project in settings.projects:
        if "github" in {project.tracker, project.forge}:
            found += _on_service("github", inspect_github, settings, project, fix=options.fix)
        if project.tracker == "linear":
            found += _on_service("linear", team_findings, settings, project, fix=options.fix)
    return [*found, *_channels(settings, trying=options.notify)]


def _channels(settings: Settings, *, trying: bool) -> list[Finding]:
    from bot.status.notify import channel_findings

    try:
        found = channel_findings(settings, trying=trying)
    except BotError as problem:
        found = [("notify", False, str(problem))]
    return [Finding(name, ok, detail) for name, ok, detail in found]


def _on_service(
    service: str, inspect: Inspect, settings: Settings, project: ProjectSettings, *, fix: bool
) -> list[Finding]:
    try:
        found = asyncio.run(inspect(settings, project, fix=fix))
    except BotError as problem:
        found = [(service, False, str(problem))]
    return [Finding(f"{project.name}/{name}", ok, detail) for name, ok, detail in found]


def _find(name: str, look: Callable[[Settings], str], settings: Settings) -> Finding:
    try:
        return Finding(name, ok=True, detail=look(settings))
    except BotError as problem:
        return Finding(name, ok=False, detail=str(problem))


def _git(_settings: Settings) -> str:
    return f"version {'.'.join(map(str, git_version()))}"


def git_version() -> tuple[int, ...]:
    """Raises what to do when there is none, or it is too old."""
    try:
        printed = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError) as exc:
        raise CannotStart(NO_GIT) from exc
    found = tuple(int(part) for part in re.findall(r"\d+", printed)[:3])
    if found < MINIMUM:
        raise CannotStart(
            f"This is git {'.'.join(map(str, found))}; Treehand needs {'.'.join(map(str, MINIMUM))} or later."
        )
    return found


def _state_dir(settings: Settings) -> str:
    try:
        settings.state_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=settings.state_dir):
            return str(settings.state_dir)
    except OSError as problem:
        raise unusable(settings.state_dir, problem) from problem


def places_of(settings: Settings) -> str:
    desk = desk_of(settings)
    try:
        lines = [_place(one, desk) for one in settings.projects]
    finally:
        desk.close()
    if not lines:
        raise CannotStart("No [[projects]] are set, so there is nothing to do. `treehand init` writes one.")
    return "; ".join(lines)


def _place(project: ProjectSettings, desk: Desk) -> str:
    if project.forge == "github":
        return f"{project.name}: {project.repository} on GitHub, base {project.base or 'its default branch'}"
    there = desk.repository(project.name)
    base = there.base()
    there.ensure_readable()
    return f"{project.name}: {project.repository}, base {base}"


def _database(settings: Settings) -> str:
    store_of(settings).close()
    damaged = what_was_damaged(settings)
    return f"{settings.state_dir / 'treehand.db'}{f' {damaged}' if damaged else ''}"


def _agent(settings: Settings) -> str:
    return f"{settings.agent.kind} {asyncio.run(agent_version(settings))}"


def _model(settings: Settings) -> str:
    ensure_key(settings)
    return "a key is set"


def _sandbox(settings: Settings) -> Finding:
    try:
        trial = asyncio.run(try_sandbox(settings))
    except BotError as problem:
        return Finding("sandbox", ok=False, detail=str(problem))
    if trial is None:
        why = "none: agents run with your own rights; give them only issues you trust"
        return Finding("sandbox", ok=True, detail=why)
    hint = _find("sandbox", _not_shown, settings).detail if trial.holds else ""
    return Finding("sandbox", trial.holds, f"{trial}{hint}", tuple(map(asdict, trial.probes)))


def _not_shown(settings: Settings) -> str:
    hidden = folders_not_shown(settings)
    return f" (on your PATH, but not in there: {', '.join(hidden)}; see `sandbox.tools`)" if hidden else ""


def _disk(settings: Settings) -> str:
    level = Disk(settings.state_dir, settings.limits.free_disk_gb).level()
    if level.lack:
        raise CannotStart(f"Nothing starts: {level.lack}. Make room, or lower `limits.free_disk_gb`.")
    sizes = shown_sizes([(name, settings.state_dir / name) for name in _FOLDERS], seconds=_COUNTING_SECONDS)
    return f"{level}; {sizes}" if sizes else str(level)


def _outlook_of(settings: Settings, project: ProjectSettings) -> list[Finding]:
    return [Finding(f"{project.name}/{one.name}", one.ok, one.detail) for one in outlook_of(settings, project)]


def _disk_of(settings: Settings, project: ProjectSettings) -> Finding:
    places, homes = Places(settings.state_dir, project.name), settings.state_dir / "homes" / project.name
    folders = [("mirror", places.mirror), ("worktrees", places.worktrees), ("homes", homes), ("trash", places.trash)]
    sizes = shown_sizes(folders, seconds=_COUNTING_SECONDS)
    return Finding(f"{project.name}/disk", ok=True, detail=sizes or "nothing yet")
