"""Parses `.github/treehand.toml`, a repository's own settings. Pure.

Rule: the file is read from the base's commit. It says how to prepare and verify a worktree, which paths to protect
and how to work there; nothing about limits, hosts, money, trust or secrets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from bot.domain.service import SERVICE_NAMES
from bot.errors import NeedsHuman
from bot.text.limited_toml import parse_toml

FILE = ".github/treehand.toml"
_LISTS = ("setup", "verify", "teardown", "copy", "protected", "services")
_KEYS = (*_LISTS, "run", "instructions")


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    setup: tuple[str, ...] | None = None
    """Unset if the file has no such key."""
    verify: tuple[str, ...] | None = None
    teardown: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    """Patterns, besides the operator's."""
    services: tuple[str, ...] | None = None
    """Services to start; unset: those that are detected."""
    run: Mapping[str, str] = field(default_factory=dict)
    """Commands by name, for people who want to look."""
    instructions: str = ""
    """Instructions for agents."""


def parse_repository_settings(text: str) -> RepositorySettings:
    """`text` of the file; empty: there is none."""
    try:
        table = parse_toml(text)
    except ValueError as exc:
        raise NeedsHuman(f"{FILE} on the base branch is not valid TOML: {exc}.") from exc
    return RepositorySettings(**{key: _value(key, value) for key, value in table.items()})


def _value(key: str, value: Any) -> Any:
    if key not in _KEYS:
        close = get_close_matches(key, _KEYS, n=1)
        instead = f"Did you mean `{close[0]}`?" if close else f"Known settings: {', '.join(_KEYS)}."
        raise NeedsHuman(f"{FILE} on the base branch: {key} is not a setting. {instead}")
    if key == "instructions":
        return _text(key, value)
    if key == "run":
        return _commands(key, value)
    return _texts(key, value)


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise NeedsHuman(f"{FILE} on the base branch: {key} must be a list of strings.")
    if key == "protected" and (odd := next((one for one in value if not is_pattern(one)), "")):
        raise NeedsHuman(
            f"{FILE} on the base branch: {odd!r} in `{key}` is not a pattern. The list can only add protected paths."
        )
    if key == "services" and (odd := next((one for one in value if one not in SERVICE_NAMES), "")):
        raise NeedsHuman(
            f"{FILE} on the base branch: {odd!r} in `{key}` is no service that Treehand can start. It can start: "
            f"{', '.join(SERVICE_NAMES)}."
        )
    return tuple(value)


def _commands(key: str, value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) and one.strip() for one in value.values()):
        raise NeedsHuman(f"{FILE} on the base branch: {key} must be a table of names and commands.")
    return value


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise NeedsHuman(f"{FILE} on the base branch: {key} must be a string.")
    return value


def is_pattern(text: str) -> bool:
    """Returns False for a pattern that would take protection back."""
    return bool(text.strip("/ ")) and not text.startswith("!")
