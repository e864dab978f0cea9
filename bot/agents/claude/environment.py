"""The agent's environment: builds the allow-list of variables that the program gets; no other variable reaches it."""

import os
from collections.abc import Mapping

from bot.domain.turn import AgentTask
from bot.sandbox.interface import AgentSandbox
from bot.system import launch
from bot.system.processes import MARKER

_SDK_VARIABLES = ("PWD", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_SDK_READS_SESSION_STATE")
_FIXED = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_ENABLE_TASKS": "0",  # brings back the one to-do list tool whose list is in its input
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # background tasks must not outlive the turn
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",  # the requested model, or none
    "CLAUDE_CODE_NO_MODEL_FALLBACK": "1",
}


def fixed_variables(*, model_retries: int, model_seconds: float) -> Mapping[str, str]:
    """Variables of every turn: no telemetry, no updates, no other model; retries and time limits of model requests."""
    milliseconds = str(round(model_seconds * 1000))
    return {
        **_FIXED,
        "CLAUDE_CODE_MAX_RETRIES": str(model_retries),
        "API_TIMEOUT_MS": milliseconds,
        "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": milliseconds,
    }


def environment_for(task: AgentTask, sandbox: AgentSandbox, fixed: Mapping[str, str], marker: str) -> dict[str, str]:
    variables = {
        **task.setup.environment,
        **fixed,
        **sandbox.environment,
        "CLAUDE_CONFIG_DIR": str(task.home),
        MARKER: marker,
    }
    if sandbox.shell:
        variables["CLAUDE_CODE_SHELL_PREFIX"] = sandbox.shell
    if os.geteuid() == 0:
        variables["IS_SANDBOX"] = "1"  # otherwise the program refuses to work unattended
    allowed = ",".join((*variables, *sandbox.inherited_variables, *_SDK_VARIABLES))
    return {**variables, launch.KEEP: allowed, launch.PARENT: str(os.getpid())}
