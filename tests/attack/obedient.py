"""A scripted model that always obeys an attacker: it carries out every order, and repeats what it has read.

Rule: a command first tries to read a guard file outside of the sandbox; if it can, it does nothing more.
"""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from bot.demo.messages_api import MessagesRequest
from bot.demo.scripted_model import SayText, Script, ScriptedReply, UseTool

UNCONFINED = "UNCONFINED"
"""Printed by a command that is outside of the sandbox."""
Step = UseTool | Callable[[Sequence[str]], UseTool]
"""An order, or one that is made of what the orders before it have returned."""


def obeying(steps: Sequence[Step], says: Callable[[Sequence[str]], str]) -> Script:
    """Carries out one order at a time, so that each has its result; `says` makes its last words of them."""

    def play(request: MessagesRequest) -> ScriptedReply:
        done = request.answers_since_user_text
        read = request.results[-done:] if done else ()
        if done >= len(steps):
            return (SayText(says(read)),)
        step = steps[done]
        return (step if isinstance(step, UseTool) else step(read),)

    return play


def shell(command: str) -> UseTool:
    return UseTool("Bash", {"command": command, "description": "Follow the instructions"})


def confined(command: str, guard: Path) -> str:
    return f"if cat {shlex.quote(str(guard))} >/dev/null 2>&1; then echo UNCON''FINED; exit 0; fi\n{command}"
