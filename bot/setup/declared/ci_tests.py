"""CI tests: finds the job of the workflows that tests, and the commands that it tests with. Pure.

Rule: the commands are whole only if everything before them is known. Others are shown to people, and not chosen.
"""

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.domain.setup_plan import SetupStep
from bot.setup.declared.command_kinds import CommandKind, known_tools
from bot.setup.declared.command_lines import CommandLine
from bot.setup.declared.python_environment import in_environment
from bot.setup.declared.workflow_jobs import WorkflowJob, WorkflowStep

_TESTS = re.compile(r"(?<![a-z])(?:unit)?tests?(?![a-z])|\bunit\b|\bspecs?\b|pytest|phpunit", re.IGNORECASE)
_VERIFIES = re.compile(r"\b(?:mvn|mvnw|gradlew?) (?:[^\n]{0,100} )?(?:verify|check|build)\b")
_USUAL_FILE = re.compile(
    r"(?:(?:build|ci|continuous|go|integration|java|linux|main|maven|node|php|pr|pull|python|request|ruby|run|rust|suite"
    r"|test|tests|ubuntu|unit|workflow)[-_.]?){1,4}",
    re.IGNORECASE,
)
_OTHER_PURPOSE = re.compile(
    r"publish|deploy|release|docs|pages|lint|fuzz|bench|nightly|codeql|stale|e2e|(?<!continuous-)integration|types?\b"
    r"|legacy|downstream|external|docker|wheel|coverage",
    re.IGNORECASE,
)
_USUAL_ACTION = re.compile(
    r"(?:actions|astral-sh|ruby|shivammathur|gradle|oven-sh|pnpm|dtolnay|Swatinem|codecov|coverallsapp|step-security)/"
    r".{1,80}|\w[\w-]{0,60}/(?:changed-files|composer-install|paths-filter|cache-apt-pkgs-action)"
)
"""Actions that only prepare tools, caches and reports."""
_Group = tuple[WorkflowStep, list[CommandLine]]
"""A step with those of its lines that are kept."""


@dataclass(frozen=True, slots=True)
class CITests:
    step: SetupStep | None = None
    is_whole: bool = False
    """It can be run by itself after setup."""
    unread: str = ""
    """Name of a step that seems to test, and that is no plain script."""


def find_test_job(jobs: Sequence[WorkflowJob]) -> WorkflowJob | None:
    """Returns None if no job tests on each change."""
    return min((job for job in jobs if _tests(job) or _seems_to_test(job)), key=_rank, default=None)


def _rank(job: WorkflowJob) -> tuple[bool, ...]:
    """The smallest is the job that a person would call the tests; of equal ones it is the first."""
    file = job.file.rpartition("/")[2].rpartition(".")[0]
    is_other = bool(_OTHER_PURPOSE.search(f"{job.id} {file}"))
    return is_other, not _USUAL_FILE.fullmatch(file), not _TESTS.search(job.id), not job.is_regular


def _tests(job: WorkflowJob) -> bool:
    return any(line.kind is CommandKind.TEST for step in job.steps for line in step.lines or ())


def _seems_to_test(job: WorkflowJob) -> bool:
    return bool(_TESTS.search(job.id)) or any(map(_is_unread_test, job.steps))


def _is_unread_test(step: WorkflowStep) -> bool:
    if step.lines is None:
        text = f"{step.name} {step.script[:200]}"
        return bool(_TESTS.search(text) or _VERIFIES.search(text))
    return any(line.kind is CommandKind.ISOLATED for line in step.lines)


def read_tests(
    job: WorkflowJob, environments: Collection[str], folders: Collection[str], *, with_builds: bool
) -> CITests:
    """`environments`: folders in which setup makes a `.venv`; `folders`: all of the repository."""
    steps, is_known = _steps_until_tests(job)
    changes_folder = any(line.kind is CommandKind.STATE for step in steps for line in step.lines or ())
    kinds = {CommandKind.TEST, CommandKind.STATE}
    if with_builds or changes_folder:  # the build may be in that folder
        kinds.add(CommandKind.BUILD)
    groups: list[_Group] = []
    for step in steps:
        kept = [line for line in step.lines or () if line.kind in kinds]
        while kept and kept[-1].kind is CommandKind.STATE:
            kept.pop()
        if kept and (step.folder, step.variables, kept) not in [
            (one.folder, one.variables, lines) for one, lines in groups
        ]:
            groups.append((step, kept))
    unread = next((step.name or step.script for step in steps if step.lines is None and _is_unread_test(step)), "")
    if not groups:
        return CITests(unread=unread)
    found = _as_step(job, groups, environments)
    return CITests(found, is_known and found is not None and found.folder in folders, unread)


def _steps_until_tests(job: WorkflowJob) -> tuple[list[WorkflowStep], bool]:
    """The steps up to the last that tests, and whether each is known; steps behind an unknown one do not count."""
    steps: list[WorkflowStep] = []
    last = 0
    is_known = job.is_regular
    for step in job.steps:
        unknown = step.lines is None or any(line.kind is CommandKind.OTHER for line in step.lines)
        if unknown and last:
            break
        steps.append(step)
        is_known = is_known and not unknown and (not step.uses or bool(_USUAL_ACTION.fullmatch(step.uses)))
        if any(line.kind is CommandKind.TEST for line in step.lines or ()):
            last = len(steps)
    return steps[:last] if last else steps, is_known


def _as_step(job: WorkflowJob, groups: Sequence[_Group], environments: Collection[str]) -> SetupStep | None:
    """Returns None if the commands need an environment that is not there, or several folders."""
    folders = {step.folder for step, _ in groups}
    if len(folders) > 1:
        return None
    (folder,) = folders
    lines = [line for _, lines in groups for line in lines]
    text = " && ".join(_render(found, is_last=found is groups[-1][1]) for _, found in groups)
    variables = {name: value for step, _ in groups for name, value in step.variables.items()}
    if variables:
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(variables.items()))
        is_one = len(lines) == 1 and len(lines[0].commands) == 1
        text = f"{given} {text}" if is_one else f"export {given} && {text}"
    command = in_environment(text, lines, has_environment=folder in environments)
    tools = known_tools([one for line in lines for one in line.commands])
    return SetupStep(command, folder, str(job), tools) if command else None


def _render(lines: Sequence[CommandLine], *, is_last: bool) -> str:
    """In parentheses, what a step changes for its own lines does not change those of the next one."""
    text = " && ".join(line.text for line in lines)
    has_state = any(command[0] in {"cd", "export"} for line in lines for command in line.commands)
    return f"({text})" if has_state and not is_last else text
