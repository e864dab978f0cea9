"""Chooses between the detected commands and those that a repository names elsewhere, and keeps the others. Pure.

Order: `copilot-setup-steps.yml`, the dev container and mise, then the detected commands, completed from CI. CI's own
tests are chosen if none are detected, or only a Makefile's.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.domain.setup_plan import SetupPlan, SetupStep, WantedVersion
from bot.setup.declared.agent_setup import find_agent_setup, find_mise_tests, hints_about_packages, step_of
from bot.setup.declared.ci_dependencies import complete_installs
from bot.setup.declared.ci_tests import CITests, find_test_job, read_tests
from bot.setup.declared.ci_versions import find_ci_versions
from bot.setup.declared.command_kinds import CommandKind
from bot.setup.declared.workflow_jobs import WorkflowJob, read_copilot_job, read_jobs
from bot.setup.repository_files import RepositoryFiles

_VENV = ".venv/"
_WEAK_CHECKS = {"make test", "make check"}
"""A target of a Makefile may be anything."""
_FAMILIES = (
    frozenset({"python3", "python", "pip", "pip3", "uv", "poetry", "pdm", "pipenv"}),
    frozenset({"npm", "pnpm", "yarn", "bun"}),
    frozenset({"mvn", "./mvnw"}),
    frozenset({"gradle", "./gradlew"}),
)
"""Programs that install the same dependencies."""
_RUNNER = re.compile(
    r"^(?:\. \.venv/bin/activate && )?(?:[A-Z_]{1,40}=\S{1,80} )*(?:(?:uv|poetry|pdm|pipenv) run (?:--no-sync )?)?"
    r"(?:(?:\.venv/bin/)?python3? -m )?"
)
_NO_DIFFERENCE = re.compile(
    r" (?:-v|-q|-vv|-B|--verbose|--batch-mode|--no-transfer-progress|--fail-at-end|--offline|--no-daemon|--locked"
    r"|--no-fail-fast|--no-restore|--stacktrace|--parallel|--frozen-lockfile|--immutable|--frozen|--no-interaction"
    r"|--no-progress|--all-groups|--all-extras|run)(?= |$)"
)


def complete_plan(found: SetupPlan, files: RepositoryFiles, *, uses_setup: bool = True) -> SetupPlan:
    """`found`: the detected plan. `uses_setup`: the plan's own steps are run, and not those of other settings."""
    job = find_test_job(read_jobs(files))
    agents = find_agent_setup(files)
    plan = replace(found, hints=(*found.hints, *agents.hints))
    if agents.steps:
        plan = _with_steps(plan, found, agents.steps, agents.programs)
    if job:
        lines = [line for step in job.steps for line in step.lines or ()]
        packages = hints_about_packages(f"CI ({job})", lines, job.packages)
        steps = plan.steps if agents.steps else complete_installs(plan.steps, job, files)
        plan = replace(plan, steps=steps, hints=(*plan.hints, *packages))
    plan = _with_checks(plan, files, job, uses_setup=uses_setup)
    return replace(plan, wanted=(*plan.wanted, *_versions(plan.wanted, files, job)))


def _with_steps(plan: SetupPlan, found: SetupPlan, steps: Sequence[SetupStep], programs: frozenset[str]) -> SetupPlan:
    """Keeps the detected steps of the languages that the other commands do not set up."""
    replaced = [step for step in found.steps if any(_is_covered(tool, programs) for tool in step.tools)]
    locks = tuple(dict.fromkeys(lock for step in replaced for lock in step.locks))
    makes = tuple(dict.fromkeys(pattern for step in replaced for pattern in step.makes))
    named = [replace(step, locks=locks, makes=tuple(dict.fromkeys((*step.makes, *makes)))) for step in steps]
    kept = [step for step in found.steps if step not in replaced]
    detected = {_essence(step): step for step in replaced}
    chosen = [replace(step, command=detected.get(_essence(step), step).command) for step in named]
    different = [step for essence, step in detected.items() if essence not in map(_essence, named)]
    return replace(plan, steps=(*kept, *chosen), other_steps=tuple(different))


def _is_covered(tool: str, programs: frozenset[str]) -> bool:
    return tool in programs or any(tool in family and family & programs for family in _FAMILIES)


def _with_checks(plan: SetupPlan, files: RepositoryFiles, job: WorkflowJob | None, *, uses_setup: bool) -> SetupPlan:
    is_weak = all(check.command in _WEAK_CHECKS for check in plan.checks)
    installs = tuple(_python_installs(job)) if job and uses_setup and not plan.steps else ()
    environments = {step.folder for step in (*plan.steps, *installs) if _VENV in step.makes} if uses_setup else set()
    folders = {"", *(name.rpartition("/")[0] for name in files.names)}
    task = find_mise_tests(files, has_environment="" in environments)
    ci = read_tests(job, environments, folders, with_builds=is_weak) if job else CITests()
    takes_ci = not task and is_weak and ci.is_whole and ci.step is not None
    hints = plan.hints
    if ci.unread and is_weak and not ci.is_whole:
        hints = (*hints, f"CI tests with commands that are not plain ({job}): name yours in `verify`")
    others = [*plan.checks, *([ci.step] if ci.step else [])]
    chosen = (task,) if task else tuple(others[-1:]) if takes_ci else plan.checks
    known = {_essence(step) for step in chosen}
    different = {_essence(step): step for step in others if _essence(step) not in known}
    steps = installs if takes_ci and installs else plan.steps
    return replace(plan, steps=steps, checks=chosen, other_checks=tuple(different.values()), hints=hints)


def _python_installs(job: WorkflowJob) -> Iterator[SetupStep]:
    """Installs of CI, for Python in a repository without a known manifest."""
    lines = [line for step in job.steps for line in (step.lines or () if not step.folder else ())]
    installs = [line for line in lines if line.kind is CommandKind.INSTALL and " --user" not in line.text]
    if installs and all(_FAMILIES[0] & {command[0] for command in line.commands} for line in installs):
        yield step_of(str(job), "", installs)


def _essence(step: SetupStep) -> tuple[str, str]:
    """Equal for commands that run the same tests in the same way."""
    plain = _NO_DIFFERENCE.sub("", _RUNNER.sub("", step.command, count=1))
    plain = "npm install" if plain in {"npm ci", "npm install --no-package-lock"} else plain
    return step.folder, plain.removeprefix("sh ").replace("./mvnw", "mvn").replace("./gradlew", "gradle")


def _versions(
    known: Sequence[WantedVersion], files: RepositoryFiles, job: WorkflowJob | None
) -> Iterator[WantedVersion]:
    """Versions of CI, for tools for which the repository's own files prefer none."""
    preferred = {one.tool for one in known if not one.is_required}
    jobs = [one for one in (read_copilot_job(files), job) if one]
    for one in (version for each in jobs for version in find_ci_versions(each, files)):
        if one.tool not in preferred:
            preferred.add(one.tool)
            yield one
