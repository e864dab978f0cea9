"""What the agent may do: its tools, the two tools of ours, and polite refusals. Advice and audit, not a wall: the wall
is the sandbox."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, HookMatcher, create_sdk_mcp_server, tool
from claude_agent_sdk.types import HookEvent, McpSdkServerConfig

from bot.domain.turn import Answer

TOOLS = ["Bash", "Read", "Edit", "Write", "Grep", "Glob", "TodoWrite"]
TOOLS_TO_PLAN = ["Bash", "Read", "Grep", "Glob", "TodoWrite"]
"""What the shell changes nevertheless, the host undoes."""
FORBIDDEN = ["WebFetch", "WebSearch", "Task", "Agent"]

SERVER = "treehand"
_ASK = f"mcp__{SERVER}__ask"
_ANSWER = f"mcp__{SERVER}__answer"

MANNERS = f"""You work alone on one issue, in a git worktree that is yours. Nobody watches; nobody can approve anything.
Change files in this worktree only. Do not commit, push, switch branches or touch .git: when you end, everything you
changed is committed for you, checked, and offered for review as a pull request.
Keep a to-do list when there is more than one thing to do: people follow it.
What people say carries a label, such as [inline-7]. Do what it asks. To answer a question, or to decline a request,
call the tool {_ANSWER} with that label.
If you cannot go on without a person's answer, call the tool {_ASK} with one clear question, then end.
End with a short summary of what you did and why, for the reviewer."""

_HOST_ONLY = re.compile(r"\bgit\b[^|;&\n]*\s(push|worktree)\b")


def server(ask: Callable[[str], None], answer: Callable[[Answer], None]) -> McpSdkServerConfig:
    @tool(
        "ask",
        "Ask the people who follow this issue one question. Your turn ends; the answer starts the next.",
        {"question": str},
    )
    async def asked(arguments: dict[str, Any]) -> dict[str, Any]:
        ask(str(arguments["question"]))
        return {"content": [{"type": "text", "text": "Asked. The answer comes in your next turn: end this one now."}]}

    @tool(
        "answer",
        "Say what becomes of one thing the team said, when you do not simply do it: answer a question, or decline a "
        "request with your reason. `about` is its label, such as inline-7. It is shown to people where they said it.",
        {"about": str, "declined": bool, "text": str},
    )
    async def answered(arguments: dict[str, Any]) -> dict[str, Any]:
        answer(Answer(str(arguments["about"]).strip("[] \n"), arguments["declined"] is True, str(arguments["text"])))
        return {"content": [{"type": "text", "text": "Noted. Go on with your work."}]}

    return create_sdk_mcp_server(SERVER, tools=[asked, answered])


def hooks(folder: Path) -> dict[HookEvent, list[HookMatcher]]:
    async def audit(given: HookInput, _tool: str | None, _context: HookContext) -> HookJSONOutput:
        assert given["hook_event_name"] == "PreToolUse"
        why = refusal(given["tool_name"], given["tool_input"], folder)
        if not why:
            return {}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": why,
            }
        }

    async def rest(_given: HookInput, _tool: str | None, _context: HookContext) -> HookJSONOutput:
        return {"continue_": False, "stopReason": "waiting for an answer"}

    return {
        "PreToolUse": [HookMatcher(hooks=[audit], on_failure="block")],
        "PostToolUse": [HookMatcher(matcher=_ASK, hooks=[rest])],
    }


def refusal(tool_name: str, arguments: dict[str, Any], folder: Path) -> str:
    """Why not; empty: go on."""
    if tool_name == "Bash" and (found := _HOST_ONLY.search(str(arguments.get("command", "")))):
        return f"Not `git {found[1]}`: what you change is committed and published for you when you end."
    if tool_name in {"Edit", "Write"} and not _is_yours(str(arguments.get("file_path", "")), folder):
        return f"Only files inside {folder} are yours to write, and not its .git."
    return ""


def _is_yours(path: str, folder: Path) -> bool:
    home = folder.resolve()
    asked = (home / path).resolve()
    return asked.is_relative_to(home) and not asked.is_relative_to(home / ".git")
