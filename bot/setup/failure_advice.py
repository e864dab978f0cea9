"""Why a worktree is not ready, and what a person can do about it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.setup_plan import Obstacle, Step
from bot.setup.download_hosts import as_setting, hosts_refused, missing
from bot.setup.run_command import Outcome

_NOT_FOUND = 127
_INSTEAD = (
    "To have something else run, name commands in the project's `setup`. To go on with nothing, in a bare checkout: "
    "`setup = false`."
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One command that has failed."""

    step: Step
    outcome: Outcome
    trouble: str
    """Why the host had to end it; empty: it had not."""
    refused: Sequence[str]
    """What it tried and is not allowed, in words."""
    named: Sequence[str]
    """Hosts that the repository's own files name, on its base."""
    allowed: Sequence[str]
    """Hosts that setup may reach."""
    is_base: bool = False
    """No agent has changed anything."""


def failed(attempt: Attempt, output: str, *, seconds: float) -> Obstacle:
    """`output`: the end of what it printed, fit to be seen; `seconds`: so many it had."""
    step, hosts = attempt.step, hosts_refused(attempt.refused)
    told = [f"It tried to {one}. What setup may reach is in `sandbox.setup_hosts`." for one in attempt.refused]
    if attempt.is_base:
        hosts = missing((*hosts, *attempt.named), attempt.allowed)
        told += [_paste(hosts, attempt.allowed)] if hosts else []
        told += ["No agent has changed anything: this is the base branch as it is, on this machine."]
    elif hosts:
        told += ["An agent has changed files since. Have a look at why it wants these, before you allow them."]
    if attempt.outcome.code == _NOT_FOUND:
        told += ["A program it needs is not there. Folders with tools are named in `sandbox.tools`."]
    problem = _problem(attempt, seconds)
    return Obstacle(problem, step.command, step.folder, output, (*told, _INSTEAD), hosts)


def without_tools(step: Step, tools: Sequence[str]) -> Obstacle:
    named = ", ".join(f"`{tool}`" for tool in tools)
    advice = (
        f"Name the folder that has {named} in `sandbox.tools`; `treehand check` says when it is seen.",
        _INSTEAD,
    )
    return Obstacle(f"needs {named}, which is not there (found by {step.why})", step.command, step.folder, "", advice)


def _paste(hosts: Sequence[str], allowed: Sequence[str]) -> str:
    return f"To let it download what it needs, put this under `[sandbox]`: `{as_setting((*allowed, *hosts))}`"


def _problem(attempt: Attempt, seconds: float) -> str:
    outcome = attempt.outcome
    if attempt.trouble:
        return f"was ended. {attempt.trouble}"
    if outcome.is_late:
        return f"took longer than the {seconds / 60:g} minutes it may (`limits.setup_minutes`), and was ended"
    if outcome.code is None:
        return "could not be started in the sandbox"
    return f"ended with exit code {outcome.code}"
