"""`treehand check`: tests settings, credentials, tools, sandbox and disk.

Rule: it prints what is wrong, with the fix, and a line that sums up the rest.
"""

import asyncio
import json
import re
import subprocess
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile

from bot.app import build_offline_agent
from bot.cli.output import hanging_words, print_text
from bot.control.repository_claims import claim_repositories
from bot.domain.price import is_unpriced, why_guessed
from bot.errors import BadSettings, BotError, CannotStart
from bot.git.command import MIN_VERSION, NO_GIT
from bot.git.user_repository import is_shallow
from bot.sandbox.build import check_hosts, check_model, hidden_path_folders, run_selftest
from bot.services.interface import Service
from bot.services.registry import SERVICES, forge_of
from bot.settings.credentials import ensure_key, model_environment
from bot.settings.dashboard_access import describe_access, list_other_people, may_move_dashboard
from bot.settings.find_file import settings_file
from bot.settings.load import load
from bot.settings.schema import ProjectSettings, Settings
from bot.status.health import describe_damaged
from bot.status.setup_report import report_setup
from bot.store.build import open_store
from bot.system.disk import Disk, describe_sizes, full_disk_text, is_full_disk
from bot.system.listening import why_taken
from bot.system.locks import daemon_pid, unusable_folder
from bot.system.private_files import ensure_private_folder, is_open_to_others, refuse_foreign_folder
from bot.text.invisible_characters import on_one_line
from bot.workspace.paths import ProjectPaths

_DETAIL_COLUMN = 21
_LEAST_BYTES = 100_000
"""Room that a command needs in the state directory."""
_MEASURE_SECONDS = 3.0
"""Time limit for measuring the size of folders."""
_SHARED_FOLDERS = ("transcripts", "evidence", "forge", "caches", "toolchains", "trash", "aside")


@dataclass(frozen=True, slots=True)
class CheckLine:
    name: str
    ok: bool
    detail: str
    probes: tuple[Mapping[str, object], ...] = ()
    """Results of the sandbox self-test."""
    is_note: bool = False
    """Printed although it is no failure, because people must know it."""

    def as_dict(self) -> dict[str, object]:
        return {"ok": self.ok, "detail": self.detail, **({"probes": self.probes} if self.probes else {})}


def check(options: Namespace) -> int:
    if options.learn:
        _learn(options)
    lines = _check_all(options)
    if options.json:
        print(json.dumps({line.name: line.as_dict() for line in lines}))
    else:
        _print_lines(lines, verbose=options.verbose)
    return 0 if all(line.ok for line in lines) else 1


def _print_lines(lines: Sequence[CheckLine], *, verbose: bool) -> None:
    for line in lines:
        if verbose or line.is_note or not line.ok:
            word = "failed" if not line.ok else "note  " if line.is_note else "ok    "
            print_text(hanging_words(f"{word}  {on_one_line(line.name):<12} {line.detail}", _DETAIL_COLUMN))
    passed = sum(line.ok for line in lines)
    what = f"All {passed} checks passed" if passed == len(lines) else f"{passed} of {len(lines)} checks passed"
    print_text(f"{what}." if verbose else f"{what}; `treehand check -v` lists them.")


def _learn(options: Namespace) -> None:
    from bot.cli.learn import learn_all, may_ask

    if options.json:
        raise BadSettings("--learn is for people and --json is for programs: use only one of them.")
    if not (options.yes or may_ask()):
        raise BadSettings("--learn asks before it runs setup, and there is no terminal: `--learn --yes` agrees to it.")
    learn_all(settings_file(options.config), write=options.yes)
    print_text("")


def _check_all(options: Namespace) -> list[CheckLine]:
    settings = load(settings_file(options.config))
    checks: list[tuple[str, Callable[[Settings], str]]] = [
        ("settings", lambda _: str(settings_file(options.config).resolve())),
        ("git", _check_git),
        ("repository", check_repositories),
        ("database", _check_database),
        ("dashboard", _check_dashboard),
        ("agent", _check_agent),
        ("model", _check_model),
        ("disk", _check_disk),
    ]
    if not (state_dir := _run_check("state_dir", _check_state_dir, settings)).ok:  # the other checks need it
        return [*(_run_check(name, call, settings) for name, call in checks[:2]), state_dir]
    lines = [*(_run_check(name, call, settings) for name, call in checks), state_dir, _check_sandbox(settings)]
    lines += _check_hosts(settings)
    lines += [line for project in settings.projects for line in _check_history(project)]
    lines += [_measure_project(settings, project) for project in settings.projects]
    for project in settings.projects:
        lines += check_setup(settings, project)
    for project in settings.projects:
        for name in dict.fromkeys((project.forge, project.tracker)):
            lines += _check_service(SERVICES[name], settings, project, fix=options.fix)
    return [*lines, *_check_channels(settings, send_test=options.notify)]


def _check_hosts(settings: Settings) -> list[CheckLine]:
    try:
        findings = asyncio.run(check_hosts(settings))
    except BotError as problem:
        return [CheckLine("registries", ok=False, detail=str(problem))]
    return [CheckLine(f"host/{one.name}", one.ok, one.detail) for one in findings]


def _check_channels(settings: Settings, *, send_test: bool) -> list[CheckLine]:
    from bot.status.build_notifier import channel_findings

    try:
        findings = channel_findings(settings, send_test=send_test)
    except BotError as problem:
        findings = [("notify", False, str(problem))]
    return [CheckLine(name, ok, detail) for name, ok, detail in findings]


def _check_service(service: Service, settings: Settings, project: ProjectSettings, *, fix: bool) -> list[CheckLine]:
    try:
        findings = asyncio.run(service.check(settings, project, fix=fix))
    except BotError as problem:
        findings = [(service.name, False, str(problem))]
    except (LookupError, TypeError, ValueError, AttributeError) as surprise:
        unexpected = f"it answered something unexpected ({type(surprise).__name__}: {surprise})"
        findings = [(service.name, False, f"{unexpected}. Is the address in the settings that of its API?")]
    return [CheckLine(f"{project.name}/{name}", ok, detail) for name, ok, detail in findings]


def _run_check(name: str, call: Callable[[Settings], str], settings: Settings) -> CheckLine:
    try:
        return CheckLine(name, ok=True, detail=call(settings))
    except BotError as problem:
        return CheckLine(name, ok=False, detail=str(problem))
    except OSError as problem:
        if not is_full_disk(problem):
            raise
        return CheckLine(name, ok=False, detail=f"{full_disk_text(problem)}.")


def _check_git(_settings: Settings) -> str:
    return f"version {'.'.join(map(str, git_version()))}"


def git_version() -> tuple[int, ...]:
    """Raises CannotStart when git is missing or too old."""
    try:
        output = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError) as exc:
        raise CannotStart(NO_GIT) from exc
    version = tuple(int(part) for part in re.findall(r"\d+", output)[:3])
    if version < MIN_VERSION:
        raise CannotStart(
            f"This is git {'.'.join(map(str, version))}; Treehand needs {'.'.join(map(str, MIN_VERSION))} or later."
        )
    return version


def _check_state_dir(settings: Settings) -> str:
    try:
        refuse_foreign_folder(settings.state_dir)
        changed = ensure_private_folder(settings.state_dir)
        with TemporaryFile(dir=settings.state_dir, buffering=0) as file:
            file.write(bytes(_LEAST_BYTES))
    except OSError as problem:
        raise unusable_folder(settings.state_dir, problem) from problem
    if is_open_to_others(settings.state_dir) and (people := list_other_people()):
        raise CannotStart(f"{settings.state_dir} is {changed}. It contains your code, and {people[0]} can read it.")
    return f"{settings.state_dir} {changed}".rstrip()


def check_repositories(settings: Settings) -> str:
    """Raises CannotStart or another error with the fix for the first repository that cannot be used."""
    claim_repositories(settings)
    projects = settings.projects
    lines = [f"{project.name}: {forge_of(project).describe_repository(settings, project)}" for project in projects]
    if not lines:
        raise CannotStart("The settings have no [[projects]]. `treehand init` writes one.")
    return "; ".join(lines)


def _check_database(settings: Settings) -> str:
    open_store(settings).close()
    damaged = describe_damaged(settings)
    return f"{settings.state_dir / 'treehand.db'}{f' {damaged}' if damaged else ''}"


def _check_agent(settings: Settings) -> str:
    return f"{settings.agent.kind} {asyncio.run(build_offline_agent(settings).version())}"


def _check_dashboard(settings: Settings) -> str:
    access, bind = describe_access(settings), settings.web.bind
    if not bind or daemon_pid(settings.state_dir) or not (problem := why_taken(bind)):
        return access
    if may_move_dashboard(settings):
        return f"{access}; {bind} is in use, so the next free port is taken"
    raise CannotStart(f"{bind} cannot be used: {problem}. Set another `web.bind`, or an empty one for none.")


def _check_model(settings: Settings) -> str:
    key = _check_model_key(settings)
    health = asyncio.run(check_model(model_environment(settings), _chosen_model(settings)))
    if not health.ok:
        raise CannotStart(health.detail)
    return f"{key}; {health.detail}"


def _check_model_key(settings: Settings) -> str:
    ensure_key(settings)
    model = _chosen_model(settings)
    if not model or not is_unpriced(model, settings.budget.prices):
        return "a key is set"
    return f"a key is set; the cost is {why_guessed(model)}"


def _chosen_model(settings: Settings) -> str:
    """Returns nothing for an alias, such as `opus`: the agent's program chooses the model and so the price."""
    chosen = settings.agent.model or model_environment(settings).get("ANTHROPIC_MODEL", "")
    model = chosen.partition("[")[0]  # a window may follow the name
    return model if any(letter.isdigit() for letter in model) else ""


def _check_sandbox(settings: Settings) -> CheckLine:
    try:
        result = asyncio.run(run_selftest(settings))
    except BotError as problem:
        return CheckLine("sandbox", ok=False, detail=str(problem))
    if result is None:
        detail = "none: agents run with your own permissions; give them only issues that you trust"
        return CheckLine("sandbox", ok=True, detail=detail, is_note=True)
    hint = _run_check("sandbox", _hidden_folders_hint, settings).detail if result.holds else ""
    return CheckLine("sandbox", result.holds, f"{result}{hint}", tuple(map(asdict, result.probes)))


def _hidden_folders_hint(settings: Settings) -> str:
    hidden = hidden_path_folders(settings)
    return f" (on your PATH, but not in the sandbox: {', '.join(hidden)}; see `sandbox.tools`)" if hidden else ""


def _check_disk(settings: Settings) -> str:
    level = Disk(settings.state_dir, settings.limits.free_disk_gb).level()
    if level.shortage:
        raise CannotStart(f"No agent starts: {level.shortage}. Free some space, or lower `limits.free_disk_gb`.")
    sizes = describe_sizes([(name, settings.state_dir / name) for name in _SHARED_FOLDERS], seconds=_MEASURE_SECONDS)
    return f"{level}; {sizes}" if sizes else str(level)


def _check_history(project: ProjectSettings) -> list[CheckLine]:
    """Never a problem: agents can work in a shallow clone, but people should know what they do not see."""
    if not (project.folder and is_shallow(project.folder)):
        return []
    advice = f"`git fetch --unshallow` in {project.folder} gets the rest"
    detail = f"this is a shallow clone, so agents see only the last part of the history; {advice}"
    return [CheckLine(f"{project.name}/history", ok=True, detail=detail, is_note=True)]


def check_setup(settings: Settings, project: ProjectSettings) -> list[CheckLine]:
    return [CheckLine(f"{project.name}/{line.name}", line.ok, line.detail) for line in report_setup(settings, project)]


def _measure_project(settings: Settings, project: ProjectSettings) -> CheckLine:
    paths, homes = ProjectPaths(settings.state_dir, project.name), settings.state_dir / "homes" / project.name
    folders = [("mirror", paths.mirror), ("worktrees", paths.worktrees), ("homes", homes), ("trash", paths.trash)]
    sizes = describe_sizes(folders, seconds=_MEASURE_SECONDS)
    return CheckLine(f"{project.name}/disk", ok=True, detail=sizes or "nothing yet")
