"""What people said about making worktrees ready and trying the work: the operator in the settings, the repository in
a file. Pure.

Rule: that file is read from the base's commit, and says what to do in a worktree: nothing about limits, hosts, money,
trust or secrets.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from bot.domain.recipe import Recipe, Step
from bot.errors import NeedsHuman
from bot.readiness.detecting import detect
from bot.readiness.files import Files

FILE = ".github/treehand.toml"
_KEYS = ("setup", "verify", "teardown", "copy")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The operator's, for one project."""

    setup: tuple[str, ...] | None = ()
    """Commands; empty: the repository's, or what is found; None: nothing at all."""
    verify: tuple[str, ...] | None = ()
    """The same for what tries an agent's work."""
    teardown: tuple[str, ...] = ()
    copy: tuple[str, ...] = (".env",)
    source: Path | None = None
    """The folder that files are copied from; None: there is none, and nothing is copied."""
    is_own: bool = False
    """It is the very repository, in a person's own folder."""
    unasked: bool = True
    """What is found is run though nobody asked for it."""


def recipe_for(files: Files, wishes: Wishes) -> Recipe:
    """The operator's word goes before the repository's, and that before what is found."""
    told = _told(files)
    setup = _chosen(wishes.setup, told.get("setup"), "projects.setup")
    found = detect(files, is_set_up=setup is None)
    verify = _chosen(wishes.verify, told.get("verify"), "projects.verify")
    if not wishes.unasked:
        found = _only_named(found, setup is None)
    return replace(
        found,
        steps=found.steps if setup is None else _spoken(setup, found),
        checks=found.checks if verify is None else tuple(Step(command, why=by) for command, by in verify),
        teardown=wishes.teardown or told.get("teardown", ()),
        copy=tuple(dict.fromkeys((*wishes.copy, *told.get("copy", ())))),
    )


def _only_named(found: Recipe, is_found: bool) -> Recipe:  # noqa: FBT001 - whether setup is what was found
    """What cannot download would only fail; and so would tests, for want of what was to be installed."""
    if not is_found or not found.steps:
        return found
    why = "not run before `sandbox.setup_hosts` names where it downloads from, or `projects.setup` says so"
    named = tuple(f"{step} ({step.why}): {why}" for step in found.steps)
    return replace(found, steps=(), checks=(), hints=(*named, *found.hints))


def _chosen(
    wished: tuple[str, ...] | None, told: tuple[str, ...] | None, key: str
) -> tuple[tuple[str, str], ...] | None:
    """Commands, each with who said so; None: nobody did."""
    if wished is None:
        return ()
    if wished:
        return tuple((command, key) for command in wished)
    return None if told is None else tuple((command, FILE) for command in told)


def _spoken(commands: tuple[tuple[str, str], ...], found: Recipe) -> tuple[Step, ...]:
    """Commands without a folder: when they are to run again, and what they make, is what was found."""
    locks = tuple(lock for step in found.steps for lock in step.locks)
    makes = tuple(dict.fromkeys(pattern for step in found.steps for pattern in step.makes))
    return tuple(Step(command, why=by, locks=locks, makes=makes) for command, by in commands)


def _told(files: Files) -> Mapping[str, tuple[str, ...]]:
    if FILE not in files.names:
        return {}
    try:
        said = tomllib.loads(files.text(FILE))
    except tomllib.TOMLDecodeError as exc:
        raise NeedsHuman(f"{FILE} on the base branch is not valid TOML: {exc}.") from exc
    return {key: _commands(key, value) for key, value in said.items()}


def _commands(key: str, value: Any) -> tuple[str, ...]:
    if key not in _KEYS:
        close = get_close_matches(key, _KEYS, n=1)
        instead = f"Did you mean `{close[0]}`?" if close else f"Known there: {', '.join(_KEYS)}."
        raise NeedsHuman(f"{FILE} on the base branch: {key} is not a key. {instead}")
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise NeedsHuman(f"{FILE} on the base branch: {key} must be a list of texts.")
    return tuple(value)
