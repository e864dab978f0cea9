"""Treehand's own two tools for the agent: `ask` people a question, `answer` a comment or decline it."""

from collections.abc import Callable
from typing import Any

from claude_agent_sdk import create_sdk_mcp_server, tool
from claude_agent_sdk.types import McpSdkServerConfig

from bot.domain.turn import TurnAnswer

SERVER = "treehand"
ASK = f"mcp__{SERVER}__ask"
ANSWER = f"mcp__{SERVER}__answer"


def tool_server(on_question: Callable[[str], None], on_answer: Callable[[TurnAnswer], None]) -> McpSdkServerConfig:
    @tool(
        "ask",
        "Ask the people who follow this issue one question. Your turn ends; the answer starts the next.",
        {"question": str},
    )
    async def ask(arguments: dict[str, Any]) -> dict[str, Any]:
        on_question(str(arguments["question"]))
        return {"content": [{"type": "text", "text": "Asked. The answer comes in your next turn: end this one now."}]}

    @tool(
        "answer",
        "Say what becomes of one thing the team said, when you do not simply do it: answer a question, or decline a "
        "request with your reason. `about` is its label, such as inline-7. It is shown to people where they said it.",
        {"about": str, "declined": bool, "text": str},
    )
    async def answer(arguments: dict[str, Any]) -> dict[str, Any]:
        on_answer(
            TurnAnswer(str(arguments["about"]).strip("[] \n"), arguments["declined"] is True, str(arguments["text"]))
        )
        return {"content": [{"type": "text", "text": "Noted. Go on with your work."}]}

    return create_sdk_mcp_server(SERVER, tools=[ask, answer])
