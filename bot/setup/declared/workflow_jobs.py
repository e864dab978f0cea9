"""Reads the jobs of GitHub workflows: on which events and machines they run, with which actions and scripts. Pure.

Rule: no action is run, and nothing here is evaluated. A script counts only if its step always runs on Linux.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.setup.declared.command_lines import CommandLine, read_script
from bot.setup.declared.parse_yaml import LONGEST_TEXT, parse_yaml
from bot.setup.repository_files import RepositoryFiles

COPILOT = ".github/workflows/copilot-setup-steps.yml"

_FILE = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")
_MOST_FILES = 40
_MOST_JOBS = 50
_MOST_STEPS = 60
_EVENTS = frozenset({"push", "pull_request", "merge_group"})
_MATRIX = re.compile(r"\$\{\{[ ]*matrix\.([A-Za-z0-9_-]+)(?:\.([A-Za-z0-9_-]+))?[ ]*\}\}")
_NEVER = re.compile(r"==[^&|!]{0,40}(?:windows|macos|darwin)|failure\(\)|cancelled\(\)|cache-hit", re.IGNORECASE)
"""Conditions that do not hold in a usual run on Linux."""
_SELDOM = re.compile(r"refs/tags|release|schedule|workflow_dispatch|\bfalse\b")
_POSIX_SHELLS = frozenset({"", "bash", "sh"})

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_VALUE = re.compile(r"[A-Za-z0-9_./:,=+ -]{1,200}")
_HARMFUL_VARIABLE = re.compile(
    r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|PROXY|COLOU?R|CACHE|^(?:PATH|HOME|USER|SHELL|TERM|CI|IFS|ENV|BASH_ENV|TMPDIR)$"
    r"|^(?:GITHUB|RUNNER|ACTIONS|TREEHAND|ANTHROPIC|CLAUDE|LD|UV|PIP|NPM|YARN|PNPM|GIT|DOCKER|AWS|TOX|CODECOV)_"
    r"|REGISTRY|INDEX_URL",
    re.IGNORECASE,
)
"""Variables that hold secrets, or that decide about network, output and folders, which are Treehand's."""


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    name: str
    uses: str
    """An action, without its version."""
    version: str
    inputs: Mapping[str, str]
    lines: tuple[CommandLine, ...] | None
    """None if its script cannot be read, or is not always run; empty if it has none, or never runs on Linux."""
    folder: str
    variables: Mapping[str, str]
    script: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowJob:
    file: str
    id: str
    workflow: str
    """The workflow's own name."""
    steps: tuple[WorkflowStep, ...]
    matrix: Mapping[str, tuple[str, ...]]
    """Plain values by name; that of a table in a list is `name.key`."""
    is_regular: bool
    """It runs on each push or pull request, on the runner itself, without services."""

    def __str__(self) -> str:
        return f"{self.file}, job {self.id}"

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages of the system that its actions install."""
        named = [
            step.inputs.get("packages" if "apt" in step.uses else "apt-get", "") for step in self.steps if step.uses
        ]
        return tuple(word for text in named for word in text.split() if _PACKAGE.fullmatch(word))

    def values(self, text: str) -> tuple[str, ...]:
        """A plain text itself, or the values of the matrix that it stands for."""
        if found := _MATRIX.fullmatch(text.strip()):
            return self.matrix.get(f"{found[1]}.{found[2]}" if found[2] else found[1], ())
        return () if "${{" in text else (text,)


def read_jobs(files: RepositoryFiles) -> tuple[WorkflowJob, ...]:
    """Jobs for Linux of all workflows that run on changes, in the order of their files."""
    names = sorted(name for name in files.names if _FILE.fullmatch(name) and name != COPILOT)[:_MOST_FILES]
    return tuple(job for name in names for job in _jobs_of(name, _workflow(files, name)))


def read_copilot_job(files: RepositoryFiles) -> WorkflowJob | None:
    workflow = _workflow(files, COPILOT)
    job = _table(_table(workflow.get("jobs")).get("copilot-setup-steps"))
    return _read_job(COPILOT, "copilot-setup-steps", workflow, job) if job else None


def _workflow(files: RepositoryFiles, name: str) -> Mapping[str, Any]:
    text = files.text(name)
    return _table(parse_yaml(text)) if len(text) <= LONGEST_TEXT else {}


def _jobs_of(file: str, workflow: Mapping[str, Any]) -> Iterator[WorkflowJob]:
    events = workflow.get("on")
    if not _EVENTS & set(_texts(events) if not isinstance(events, dict) else events):
        return
    for name, job in list(_table(workflow.get("jobs")).items())[:_MOST_JOBS]:
        found = _read_job(file, name, workflow, _table(job))
        if found and _ID.fullmatch(name):
            yield found


def _read_job(file: str, name: str, workflow: Mapping[str, Any], job: Mapping[str, Any]) -> WorkflowJob | None:
    """Returns None for a job of other systems, and one that only sometimes runs."""
    matrix = dict(_matrix_of(_table(_table(job.get("strategy")).get("matrix"))))
    if not _runs_on_linux(job.get("runs-on"), matrix) or _SELDOM.search(_text(job.get("if"))):
        return None
    defaults = {**_defaults(workflow), **_defaults(job)}
    variables = {**_variables(workflow), **_variables(job)}
    listed = job.get("steps")
    listed = listed[:_MOST_STEPS] if isinstance(listed, list) else []
    steps = tuple(_read_step(_table(step), defaults, variables) for step in listed)
    regular = not job.get("container") and not job.get("services") and len(steps) == len(listed)
    return WorkflowJob(file, name, _text(workflow.get("name")), steps, matrix, regular)


def _read_step(step: Mapping[str, Any], defaults: Mapping[str, str], variables: Mapping[str, str]) -> WorkflowStep:
    uses, _, version = _text(step.get("uses")).partition("@")
    given = {**defaults, **{key: _text(step.get(key)) for key in ("shell", "working-directory") if step.get(key)}}
    condition, script = _text(step.get("if")), _text(step.get("run"))
    folder = _folder(given.get("working-directory", ""))
    lines: tuple[CommandLine, ...] | None = ()
    if script and not _NEVER.search(condition):
        plain = not condition and given.get("shell", "") in _POSIX_SHELLS and folder is not None
        lines = read_script(script) if plain else None
    inputs = {key: value for key, value in _table(step.get("with")).items() if isinstance(value, str)}
    return WorkflowStep(
        _text(step.get("name")), uses, version, inputs, lines, folder or "", {**variables, **_variables(step)}, script
    )


def _matrix_of(matrix: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    included = [table for table in _list(matrix.get("include")) if isinstance(table, dict)]
    for name, listed in matrix.items():
        if name in {"include", "exclude"}:
            continue
        tables = [table for table in _list(listed) if isinstance(table, dict)]
        yield name, _texts(listed)
        for key in dict.fromkeys(key for table in tables for key in table):
            yield f"{name}.{key}", tuple(table[key] for table in tables if isinstance(table.get(key), str))
    for key in dict.fromkeys(key for table in included for key in table):
        if key not in matrix:
            yield key, tuple(table[key] for table in included if isinstance(table.get(key), str))


def _runs_on_linux(machine: Any, matrix: Mapping[str, Sequence[str]]) -> bool:
    texts = _texts(machine)
    named = [matrix.get(found[1], ()) for text in texts for found in _MATRIX.finditer(text)]
    values = [*texts, *(value for values in named for value in values)]
    return any(word in value.lower() for value in values for word in ("ubuntu", "linux", "self-hosted"))


def _defaults(outer: Mapping[str, Any]) -> dict[str, str]:
    given = _table(_table(outer.get("defaults")).get("run"))
    return {key: value for key, value in given.items() if isinstance(value, str)}


def _variables(outer: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value
        for name, value in _table(outer.get("env")).items()
        if isinstance(value, str)
        and _ID.fullmatch(name)
        and _VALUE.fullmatch(value)
        and not _HARMFUL_VARIABLE.search(name)
    }


def _folder(text: str) -> str | None:
    """Returns None unless it is a plain folder of the repository."""
    parts = [part for part in text.strip().split("/") if part not in {"", "."}]
    is_plain = all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", part) for part in parts)
    return "/".join(parts) if is_plain and not text.startswith("/") else None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    """Texts of a list; a text alone counts as a list of one."""
    return tuple(one for one in ([value] if isinstance(value, str) else _list(value)) if isinstance(one, str))
