"""Runs Python commands of other tools in the worktree's own environment, and never in the system's. Pure."""

import re
from collections.abc import Sequence

from bot.setup.declared.command_lines import CommandLine

CREATE = "python3 -m venv .venv"
ACTIVATE = ". .venv/bin/activate"

_IN_ENVIRONMENT = frozenset({"pip", "pip3", "pytest", "py.test", "coverage"})
_PYTHON = frozenset({"python", "python3"})
_PLAIN_PYTHON = re.compile(r"(?<![^ ;(])python(?= )")
"""Debian has only `python3`."""


def in_environment(text: str, lines: Sequence[CommandLine], *, has_environment: bool) -> str:
    """Returns an empty string if the commands need an environment and there is none."""
    started = [command[0] for line in lines for command in line.commands]
    programs = set(started)
    if not programs & (_IN_ENVIRONMENT | _PYTHON):
        return text
    if has_environment:
        return f"{ACTIVATE} && {text}"
    if programs & _IN_ENVIRONMENT or len(programs) > 1:
        return ""
    return _PLAIN_PYTHON.sub("python3", text, count=len(started))


def needs_environment(lines: Sequence[CommandLine]) -> bool:
    """Returns True for pip, also as `uv pip`."""
    commands = [command for line in lines for command in line.commands]
    return any(command[0] in _IN_ENVIRONMENT | _PYTHON or command[:2] == ("uv", "pip") for command in commands)
