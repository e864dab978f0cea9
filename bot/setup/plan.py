"""What people said about making worktrees ready and trying the work: the operator in the settings, the repository in
a file of its own. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.domain.repository_settings import FILE, parse_told
from bot.domain.setup_plan import Recipe, Step
from bot.setup.detect import detect
from bot.setup.download_hosts import hosts_in, silent_tools
from bot.setup.repository_files import Files


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
    run: Mapping[str, str] = field(default_factory=dict)
    """Commands by name, for people who want to look."""


def recipe_for(files: Files, wishes: Wishes) -> Recipe:
    """The operator's word goes before the repository's, and that before what is found."""
    told = parse_told(files.text(FILE))
    setup = _chosen(wishes.setup, told.setup, "projects.setup")
    found = detect(files, is_set_up=setup is None)
    verify = _chosen(wishes.verify, told.verify, "projects.verify")
    steps = found.steps if setup is None else _spoken(setup, found)
    return replace(
        found,
        steps=steps,
        hosts=hosts_in(files, steps),
        silent=silent_tools(files, steps),
        checks=found.checks if verify is None else tuple(Step(command, why=by) for command, by in verify),
        teardown=wishes.teardown or told.teardown,
        copy=tuple(dict.fromkeys((*wishes.copy, *told.copy))),
        servers={**found.servers, **_named(told.run, FILE), **_named(wishes.run, "projects.run")},
    )


def _named(commands: Mapping[str, str], by: str) -> dict[str, Step]:
    return {name: Step(command, why=by) for name, command in commands.items()}


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
