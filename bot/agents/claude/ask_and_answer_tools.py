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
        "Ask the people who follow this issue one question. Your turn then ends, and the answer starts the next one.",
        {"question": str},
    )
    async def ask(arguments: dict[str, Any]) -> dict[str, Any]:
        on_question(str(arguments["question"]))
        return {
            "content": [
                {
                    "type": "text",
                    "text": "The question is posted. The answer comes in your next turn: end this one now.",
                }
            ]
        }

    @tool(
        "answer",
        "Answer a question of the team, or decline a request and give the reason. Do not call this for requests that "
        "you carry out. `about` is the label of the message, such as inline-7. The reply appears where it was asked.",
        {"about": str, "declined": bool, "text": str},
    )
    async def answer(arguments: dict[str, Any]) -> dict[str, Any]:
        on_answer(
            TurnAnswer(str(arguments["about"]).strip("[] \n"), arguments["declined"] is True, str(arguments["text"]))
        )
        return {"content": [{"type": "text", "text": "The reply is saved. Continue with your work."}]}

    return create_sdk_mcp_server(SERVER, tools=[ask, answer])
