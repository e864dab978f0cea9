"""Failure advice: explains why setup failed, and what a person can do about it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.setup_plan import SetupObstacle, SetupStep
from bot.setup.download_hosts import missing_hosts, refused_hosts, setup_hosts_line
from bot.setup.run_command import CommandOutcome

_COMMAND_NOT_FOUND = 127
_ALTERNATIVES = "To run other commands, name them in the project's `setup`. To continue without setup: `setup = false`."


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
    advice = [f"It tried to {refusal}. {_hint(refusal)}" for refusal in failure.refusals]
    if failure.is_base:
        hosts = missing_hosts((*hosts, *failure.known_hosts), failure.allowed_hosts)
        advice += [_settings_advice(hosts, failure.allowed_hosts)] if hosts else []
        advice += ["No agent has changed a file: this is the unchanged base branch."]
    elif failure.changed is not None:
        advice += [_without_network(failure.changed)]
    elif hosts:
        advice += ["An agent has changed files. Before you allow these hosts, review why it needs them."]
    if failure.outcome.code == _COMMAND_NOT_FOUND:
        advice += ["A program that it needs is missing. `sandbox.tools` names the folders with tools."]
    problem = _problem(failure, seconds)
    return SetupObstacle(problem, step.command, step.folder, output, (*advice, _ALTERNATIVES), hosts)


def explain_missing_tools(step: SetupStep, tools: Sequence[str]) -> SetupObstacle:
    named = ", ".join(f"`{tool}`" for tool in tools)
    advice = (
        f"Add the folder that contains {named} to `sandbox.tools`; `treehand check` shows whether it is found.",
        _ALTERNATIVES,
    )
    return SetupObstacle(
        f"needs {named}, which is missing in the sandbox (detected from {step.why})",
        step.command,
        step.folder,
        "",
        advice,
    )


def explain_missing_versions(missing: Sequence[str]) -> str:
    found = "; ".join(missing)
    return (
        f"The worktree was not set up, and nothing was spent: {found}. Then comment `/ai retry`. If the tool is "
        "installed elsewhere, name its folder in `sandbox.tools`."
    )


def _without_network(changed: Sequence[str]) -> str:
    named = ", ".join(f"`{path}`" for path in changed) or "files that setup reads"
    return f"An agent has changed {named}. Therefore setup ran without network, with the existing downloads."


def _hint(refusal: str) -> str:
    if refusal.startswith("download from "):
        return "`treehand check` tests the registries of the settings."
    if "not on the public internet" in refusal:
        return "`sandbox.private_hosts` lists the hosts that may be in your own network."
    return "`sandbox.setup_hosts` lists the hosts that setup may reach."


def _settings_advice(hosts: Sequence[str], allowed_hosts: Sequence[str]) -> str:
    line = setup_hosts_line((*allowed_hosts, *hosts))
    return (
        f"To allow its downloads, add this under `[sandbox]`: `{line}`. If it needs more hosts, `treehand check "
        "--learn` finds all of them at once. Then comment `/ai retry`; the daemon needs no restart."
    )


def _problem(failure: FailedCommand, seconds: float) -> str:
    outcome = failure.outcome
    if failure.kill_reason:
        return f"was stopped. {failure.kill_reason}"
    if outcome.is_late:
        return f"exceeded the limit of {seconds / 60:g} minutes (`limits.setup_minutes`) and was stopped"
    if outcome.code is None:
        return "could not be started in the sandbox"
    return f"ended with exit code {outcome.code}"
