"""Agent setup: commands that a repository names for the environments of agents and developers. Pure.

Reads `copilot-setup-steps.yml`, the dev container's commands and mise's tasks. Rule: the first is meant for agents, so
each of its plain commands counts. The others are meant for containers and people's machines: they count only if all
their commands are known, and else they are named.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.setup_plan import SetupStep
from bot.setup.declared.command_kinds import CommandKind, known_tools
from bot.setup.declared.command_lines import CommandLine, read_script
from bot.setup.declared.parse_jsonc import parse_jsonc
from bot.setup.declared.python_environment import ACTIVATE, CREATE, in_environment, needs_environment
from bot.setup.declared.workflow_jobs import COPILOT, read_copilot_job
from bot.setup.repository_files import RepositoryFiles, nested_table, strings

_DEVCONTAINERS = (".devcontainer/devcontainer.json", ".devcontainer.json")
_DEVCONTAINER_COMMANDS = ("onCreateCommand", "updateContentCommand", "postCreateCommand")
_MISE_FILES = ("mise.toml", ".mise.toml")
_MISE_SETUP = ("setup", "bootstrap", "install", "deps")
_MISE_TESTS = ("test", "tests")
_MAX_PACKAGES = 12
_LOST = {"docker", "docker-compose", "podman", "playwright", "cypress", "puppeteer", "systemctl", "service"}
_LEFT_OUT = {CommandKind.SYSTEM, CommandKind.HARMLESS, CommandKind.TEST, CommandKind.ISOLATED}
_KNOWN = {CommandKind.INSTALL, CommandKind.BUILD, CommandKind.STATE, CommandKind.HARMLESS}
_PYTHON_MAKES = (".venv/", "*.egg-info/")


@dataclass(frozen=True, slots=True)
class AgentSetup:
    steps: tuple[SetupStep, ...] = ()
    programs: frozenset[str] = frozenset()
    """The programs that its commands start."""
    hints: tuple[str, ...] = ()


def find_agent_setup(files: RepositoryFiles) -> AgentSetup:
    """The commands of the first file whose commands can be run, with hints about those that cannot."""
    hints: list[str] = []
    for find in (_copilot, _devcontainer, _mise):
        found = find(files)
        hints += found.hints
        if found.steps:
            return AgentSetup(found.steps, found.programs, tuple(hints))
    return AgentSetup(hints=tuple(hints))


def find_mise_tests(files: RepositoryFiles, *, has_environment: bool) -> SetupStep | None:
    """Returns None unless a task `test` has plain test commands alone, and the environment for them is there."""
    for why, script in _tasks(files, _MISE_TESTS):
        lines = read_script(script)
        if lines and all(line.kind is CommandKind.TEST for line in lines):
            commands = [command for line in lines for command in line.commands]
            text = in_environment(" && ".join(line.text for line in lines), lines, has_environment=has_environment)
            return SetupStep(text, why=why, tools=known_tools(commands)) if text else None
    return None


def _copilot(files: RepositoryFiles) -> AgentSetup:
    job = read_copilot_job(files)
    if job is None:
        return AgentSetup()
    read = [step for step in job.steps if step.lines and _has_folder(files, step.folder) and not _is_lost(step.lines)]
    groups = [(step.folder, [line for line in step.lines or () if line.kind not in _LEFT_OUT]) for step in read]
    unread = [
        step.name or step.script.strip().partition("\n")[0]
        for step in job.steps
        if step.lines is None or (step.lines and step not in read)
    ]
    hints = [f"{COPILOT}: the step {name[:60]!r} does not run automatically" for name in unread]
    lines = [line for step in job.steps for line in step.lines or ()]
    return _as_setup(COPILOT, groups, [*hints, *hints_about_packages(COPILOT, lines, job.packages)])


def _is_lost(lines: Sequence[CommandLine]) -> bool:
    """Returns True for containers and browsers: they need rights, or a home folder, that setup has not got."""
    return any(word in _LOST for line in lines for command in line.commands for word in command)


def _has_folder(files: RepositoryFiles, folder: str) -> bool:
    return not folder or any(name.startswith(f"{folder}/") for name in files.names)


def _devcontainer(files: RepositoryFiles) -> AgentSetup:
    for file in _DEVCONTAINERS:
        table = parse_jsonc(files.text(file))
        scripts = [script for key in _DEVCONTAINER_COMMANDS for script in _devcontainer_scripts(table.get(key))]
        if scripts:
            return _known_alone(file, file, scripts)
    return AgentSetup()


def _devcontainer_scripts(command: Any) -> Iterator[str]:
    """A command is a text, a list of words, or a table of both."""
    match command:
        case str():
            yield command
        case list():
            yield " ".join(strings(command))
        case dict():
            for one in command.values():
                if not isinstance(one, dict):
                    yield from _devcontainer_scripts(one)


def _mise(files: RepositoryFiles) -> AgentSetup:
    for why, script in _tasks(files, _MISE_SETUP):
        return _known_alone(why.partition(",")[0], why, [script])
    return AgentSetup()


def _tasks(files: RepositoryFiles, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the place and the script of each task that depends on no other."""
    for file in _MISE_FILES:
        tasks = nested_table(files.top().toml(file), "tasks")
        for name in names:
            task = tasks.get(name)
            task = task if isinstance(task, dict) else {"run": task}
            run = task.get("run")
            script = run if isinstance(run, str) else "\n".join(strings(run))
            if script.strip() and not {"depends", "dir", "env", "file", "shell", "usage"} & set(task):
                yield f"{file}, task {name}", script


def _known_alone(file: str, why: str, scripts: Sequence[str]) -> AgentSetup:
    read = [read_script(script) for script in scripts]
    lines = [line for found in read for line in found or ()]
    packages = hints_about_packages(file, lines)
    if None in read or not {line.kind for line in lines} <= _KNOWN:
        first = scripts[0].strip().partition("\n")[0][:60]
        return AgentSetup(hints=(f"{file}: {first!r} does not run automatically", *packages))
    return _as_setup(
        why, [("", [line for line in found or () if line.kind not in _LEFT_OUT]) for found in read], packages
    )


def _as_setup(why: str, groups: Sequence[tuple[str, Sequence[CommandLine]]], hints: Sequence[str]) -> AgentSetup:
    lines = [line for _, found in groups for line in found]
    if not any(line.kind is CommandKind.INSTALL for line in lines):
        return AgentSetup(hints=tuple(hints))
    steps = tuple(step_of(why, folder, found) for folder, found in groups if found)
    programs = frozenset(command[0] for line in lines for command in line.commands)
    return AgentSetup(steps, programs, tuple(hints))


def step_of(why: str, folder: str, lines: Sequence[CommandLine]) -> SetupStep:
    """One shell runs all the lines; pip installs into a `.venv`."""
    text = " && ".join(line.text for line in lines)
    tools = known_tools([command for line in lines for command in line.commands])
    if not needs_environment(lines):
        return SetupStep(text, folder, why, tools)
    return SetupStep(f"{CREATE} && {ACTIVATE} && {text}", folder, why, ("python3", *tools), makes=_PYTHON_MAKES)


def hints_about_packages(where: str, lines: Sequence[CommandLine], more: Iterable[str] = ()) -> tuple[str, ...]:
    packages = list(dict.fromkeys((*(package for line in lines for package in line.system_packages), *more)))
    named = ", ".join(packages[:_MAX_PACKAGES])
    rest = f" and {len(packages) - _MAX_PACKAGES} more" if len(packages) > _MAX_PACKAGES else ""
    return (f"{where} installs {named}{rest} with the system's package manager",) if packages else ()
