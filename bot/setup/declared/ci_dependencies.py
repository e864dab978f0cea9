"""CI dependencies: completes detected install commands with what a job of the workflows installs besides. Pure.

Only names count that the repository or a package index can know: requirement files that exist, extras, groups and plain
requirements. Whatever else stands in CI's command is left out.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.domain.setup_plan import SetupStep
from bot.setup.declared.command_kinds import CommandKind
from bot.setup.declared.workflow_jobs import WorkflowJob
from bot.setup.repository_files import RepositoryFiles

_PIP_INSTALLS = (("pip", "install"), ("pip3", "install"), ("python", "-m", "pip", "install"), ("uv", "pip", "install"))
_SELF = re.compile(r"\.(?:\[([A-Za-z0-9_, -]{1,200})\])?")
_DETECTED_SELF = re.compile(r"-e (?:\.(?= |$)|'\.\[([A-Za-z0-9_,-]+)\]')")
_REQUIREMENT = re.compile(
    r"[A-Za-z][A-Za-z0-9._-]{0,60}(?:\[[A-Za-z0-9_,-]{1,60}\])?(?:[=<>~!]=?[0-9A-Za-z.*,<>=!~]{1,40})?"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_,.-]{0,100}")
_TOOLS_OF_CI = frozenset(
    (
        *("pip", "setuptools", "wheel", "build", "twine", "tox", "nox", "uv", "poetry", "pdm", "pipenv", "hatch"),
        *("codecov", "coveralls", "pre-commit", "flake8", "black", "isort", "mypy", "ruff", "pylint", "tox-gh-actions"),
        *("tox-uv", "virtualenv", "flit", "check-manifest", "bandit"),
    )
)
_GROUP_OPTIONS = {
    "poetry install": {"--with": True, "--extras": True, "-E": True, "--all-extras": False, "--all-groups": False},
    "pdm install": {"-G": True, "--group": True, "-d": False, "--dev": False},
}
"""Options that choose groups and extras, and whether a value follows, by the start of the command."""


@dataclass(frozen=True, slots=True)
class _PipArguments:
    files: tuple[str, ...]
    extras: tuple[str, ...]
    requirements: tuple[str, ...]


def complete_installs(steps: Sequence[SetupStep], job: WorkflowJob, files: RepositoryFiles) -> tuple[SetupStep, ...]:
    """Adds to the steps at the top of the repository."""
    commands = [
        command
        for step in job.steps
        for line in (step.lines or () if not step.folder else ())
        for command in line.commands
        if line.kind is CommandKind.INSTALL
    ]
    return tuple(_complete(step, commands, files) if not step.folder else step for step in steps)


def _complete(step: SetupStep, commands: Sequence[Sequence[str]], files: RepositoryFiles) -> SetupStep:
    for start, options in _GROUP_OPTIONS.items():
        if step.command.startswith(start):
            chosen = [one for command in commands for one in _chosen_options(command, start, options)]
            new = [one for one in dict.fromkeys(chosen) if one not in step.command]
            return replace(step, command=" ".join((step.command, *new)))
    if "python -m pip install" not in step.command:
        return step
    wanted = _read_pip(commands, files)
    missing = [name for name in wanted.files if f"-r {name}" not in step.command]
    command = _DETECTED_SELF.sub(lambda found: _with_extras(found[1] or "", wanted.extras), step.command)
    known = {_name_of(word) for word in shlex.split(step.command)}
    new = [shlex.quote(one) for one in wanted.requirements if _name_of(one) not in known]
    more = " ".join((*(f"-r {shlex.quote(name)}" for name in missing), *new))
    return replace(step, command=f"{command} {more}".rstrip(), locks=(*step.locks, *missing))


def _chosen_options(command: Sequence[str], start: str, options: dict[str, bool]) -> Iterator[str]:
    if " ".join(command[:2]) != start:
        return
    for place, word in enumerate(command):
        if word in options and not options[word]:
            yield word
        elif word in options and _NAME.fullmatch(value := "".join(command[place + 1 : place + 2])):
            yield f"{word} {value}"


def _read_pip(commands: Sequence[Sequence[str]], files: RepositoryFiles) -> _PipArguments:
    listed: dict[str, None] = {}
    extras: dict[str, None] = {}
    requirements: dict[str, None] = {}
    for command in commands:
        start = next((one for one in _PIP_INSTALLS if tuple(command[: len(one)]) == one), ())
        words = list(command[len(start) :]) if start else []
        for place, word in enumerate(words):
            name = word.removeprefix("./")
            if place and words[place - 1] in {"-r", "--requirement"}:
                listed |= {name: None} if name in files.names else {}
            elif found := _SELF.fullmatch(word):
                extras |= dict.fromkeys(one.strip() for one in (found[1] or "").split(",") if one.strip())
            elif not (place and words[place - 1].startswith("-")) and _is_requirement(word):
                requirements |= {word: None}
    return _PipArguments(tuple(listed), tuple(extras), tuple(requirements))


def _is_requirement(word: str) -> bool:
    return bool(_REQUIREMENT.fullmatch(word)) and _name_of(word) not in _TOOLS_OF_CI


def _name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def _with_extras(known: str, more: Sequence[str]) -> str:
    extras = list(dict.fromkeys((*(one for one in known.split(",") if one), *more)))
    return f"-e '.[{','.join(extras)}]'" if extras else "-e ."
