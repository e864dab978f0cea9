"""Summarizes a tool call in one short line, such as `edits app.py`. The arguments are untrusted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.domain.turn import Todo

_MAX_LENGTH = 120
_VERBS: Mapping[str, tuple[str, str]] = {
    "Bash": ("runs", "command"),
    "Read": ("reads", "file_path"),
    "Edit": ("edits", "file_path"),
    "Write": ("writes", "file_path"),
    "Grep": ("searches for", "pattern"),
    "Glob": ("looks for", "pattern"),
}


def summarize(tool: str, arguments: Mapping[str, Any], folder: Path) -> str:
    if tool not in _VERBS:
        return "updates its to-do list" if tool == "TodoWrite" else shorten(f"uses {tool.rpartition('__')[2]}")
    verb, argument = _VERBS[tool]
    return shorten(f"{verb} {_relative(str(arguments.get(argument, '')), folder)}")


def _relative(text: str, folder: Path) -> str:
    return text.replace(f"{folder}/", "").replace(str(folder), ".")


def shorten(text: str, length: int = _MAX_LENGTH) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


def read_todos(arguments: Mapping[str, Any]) -> tuple[Todo, ...]:
    listed = arguments.get("todos")
    if not isinstance(listed, list):
        return ()
    return tuple(
        Todo(
            shorten(str(item.get("content", ""))),
            item.get("status") == "completed",
            item.get("status") == "in_progress",
        )
        for item in listed
        if isinstance(item, dict)
    )


def truncate(text: str, length: int = 2_000) -> str:
    return text if len(text) <= length else f"{text[:length]}\n… and {len(text) - length} more characters"
