"""Failure advice: explains why setup failed, and what a person can do about it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.setup_plan import SetupObstacle, SetupStep
from bot.setup.download_hosts import missing_hosts, refused_hosts, setup_hosts_line
from bot.setup.run_command import CommandOutcome

_COMMAND_NOT_FOUND = 127
_ALTERNATIVES = (
    "To have something else run, name commands in the project's `setup`. To go on with nothing, in a bare checkout: "
    "`setup = false`."
)


@dataclass(frozen=True, slots=True)
class FailedCommand:
    """A setup command that has failed."""

    step: SetupStep
    outcome: CommandOutcome
    kill_reason: str
    """Why the host ended it; empty if it did not."""
    refusals: Sequence[str]
    """Attempts that the proxy refused, in words."""
    known_hosts: Sequence[str]
    """Hosts that the repository's files on the base name."""
    allowed_hosts: Sequence[str]
    """Hosts that setup may reach."""
    is_base: bool = False
    """The worktree holds the base branch, unchanged by an agent."""
    changed: Sequence[str] | None = None
    """The files that setup reads and an agent has changed, for which it ran without network; None: it had network."""


def explain_failure(failure: FailedCommand, output: str, *, seconds: float) -> SetupObstacle:
    """`output`: the end of its redacted output; `seconds`: its time limit."""
    step, hosts = failure.step, refused_hosts(failure.refusals)
    advice = [
        f"It tried to {refusal}. What setup may reach is in `sandbox.setup_hosts`." for refusal in failure.refusals
    ]
    if failure.is_base:
        hosts = missing_hosts((*hosts, *failure.known_hosts), failure.allowed_hosts)
        advice += [_settings_advice(hosts, failure.allowed_hosts)] if hosts else []
        advice += ["No agent has changed anything: this is the base branch as it is, on this machine."]
    elif failure.changed is not None:
        advice += [_without_network(failure.changed)]
    elif hosts:
        advice += ["An agent has changed files since. Have a look at why it wants these, before you allow them."]
    if failure.outcome.code == _COMMAND_NOT_FOUND:
        advice += ["A program it needs is not there. Folders with tools are named in `sandbox.tools`."]
    problem = _problem(failure, seconds)
    return SetupObstacle(problem, step.command, step.folder, output, (*advice, _ALTERNATIVES), hosts)


def explain_missing_tools(step: SetupStep, tools: Sequence[str]) -> SetupObstacle:
    named = ", ".join(f"`{tool}`" for tool in tools)
    advice = (
        f"Name the folder that has {named} in `sandbox.tools`; `treehand check` says when it is seen.",
        _ALTERNATIVES,
    )
    return SetupObstacle(
        f"needs {named}, which is not there (found by {step.why})", step.command, step.folder, "", advice
    )


def _without_network(changed: Sequence[str]) -> str:
    named = ", ".join(f"`{path}`" for path in changed) or "what setup reads"
    return f"An agent has changed {named}. So setup ran without network, with the downloads that were there."


def _settings_advice(hosts: Sequence[str], allowed_hosts: Sequence[str]) -> str:
    return (
        f"To let it download what it needs, put this under `[sandbox]`: `{setup_hosts_line((*allowed_hosts, *hosts))}`"
    )


def _problem(failure: FailedCommand, seconds: float) -> str:
    outcome = failure.outcome
    if failure.kill_reason:
        return f"was ended. {failure.kill_reason}"
    if outcome.is_late:
        return f"took longer than the {seconds / 60:g} minutes it may (`limits.setup_minutes`), and was ended"
    if outcome.code is None:
        return "could not be started in the sandbox"
    return f"ended with exit code {outcome.code}"
