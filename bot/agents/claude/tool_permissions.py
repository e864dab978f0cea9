"""Tool permissions of the agent: allowed tools, forbidden tools, and calls that a hook denies with a reason.

Rule: permissions advise the agent; the sandbox stops it.
"""

import re
from pathlib import Path
from typing import Any

from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, HookMatcher
from claude_agent_sdk.types import HookEvent

from bot.agents.claude.ask_and_answer_tools import ASK

ALLOWED_TOOLS = ["Bash", "Read", "Edit", "Write", "Grep", "Glob", "TodoWrite"]
PLANNING_TOOLS = ["Bash", "Read", "Grep", "Glob", "TodoWrite"]
"""Tools of a turn that only plans. Changes made through the shell are undone by the host."""
FORBIDDEN_TOOLS = ["WebFetch", "WebSearch", "Task", "Agent"]

_END_OF_COMMAND = re.compile(r"[|;&\n]")
_GIT = re.compile(r"\bgit\b")
_HOST_ONLY = re.compile(r"\s(push|worktree)\b")


def permission_hooks(folder: Path) -> dict[HookEvent, list[HookMatcher]]:
    async def check(call: HookInput, _tool: str | None, _context: HookContext) -> HookJSONOutput:
        assert call["hook_event_name"] == "PreToolUse"
        reason = denial_reason(call["tool_name"], call["tool_input"], folder)
        if not reason:
            return {}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }
        }

    async def stop(_call: HookInput, _tool: str | None, _context: HookContext) -> HookJSONOutput:
        return {"continue_": False, "stopReason": "waiting for an answer"}

    return {
        "PreToolUse": [HookMatcher(hooks=[check], on_failure="block")],
        "PostToolUse": [HookMatcher(matcher=ASK, hooks=[stop])],
    }


def denial_reason(tool_name: str, arguments: dict[str, Any], folder: Path) -> str:
    """Returns an empty string if the call is allowed."""
    if tool_name == "Bash" and (name := _host_only(str(arguments.get("command", "")))):
        return f"`git {name}` is not allowed. Treehand commits and publishes your changes when your turn ends."
    if tool_name in {"Edit", "Write"} and not _is_writable(str(arguments.get("file_path", "")), folder):
        return f"You may write only files inside {folder}, except its .git."
    return ""


def _host_only(command: str) -> str:
    """Returns the command of git that only the host may run; empty if there is none."""
    for part in _END_OF_COMMAND.split(command):
        if (git := _GIT.search(part)) and (found := _HOST_ONLY.search(part, git.end())):
            return found[1]
    return ""


def _is_writable(path: str, folder: Path) -> bool:
    root = folder.resolve()
    target = (root / path).resolve()
    return target.is_relative_to(root) and not target.is_relative_to(root / ".git")
