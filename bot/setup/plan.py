"""Plans setup and verification: the operator's settings first, then the repository's files, then detection. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.domain.repository_settings import FILE, parse_repository_settings
from bot.domain.setup_plan import SetupPlan, SetupStep
from bot.setup.declared.choose import complete_plan
from bot.setup.detect import detect
from bot.setup.download_hosts import hosts_in_files, tools_without_hosts
from bot.setup.repository_files import RepositoryFiles
from bot.setup.services.detect import choose_services, detect_services


@dataclass(frozen=True, slots=True)
class SetupOverrides:
    """The operator's settings for one project."""

    setup: tuple[str, ...] | None = ()
    """Commands; empty: those of the repository, or the detected ones; None: no setup at all."""
    verify: tuple[str, ...] | None = ()
    """Test commands, in the same way."""
    teardown: tuple[str, ...] = ()
    copy: tuple[str, ...] = (".env",)
    copy_from: Path | None = None
    """The folder that files are copied from; None: no files are copied."""
    is_repository: bool = False
    """`copy_from` is the project's repository itself, in a person's own folder."""
    servers: Mapping[str, str] = field(default_factory=dict)
    """Commands by name that a person can start to look at the work."""
    services: tuple[str, ...] | None = ()
    """Names of services; empty: those of the repository, or the detected ones; None: none."""


def plan_setup(files: RepositoryFiles, overrides: SetupOverrides) -> SetupPlan:
    repository_settings = parse_repository_settings(files.text(FILE))
    setup = _choose_commands(overrides.setup, repository_settings.setup, "projects.setup")
    found = complete_plan(detect(files, uses_detected_setup=setup is None), files, uses_setup=setup is None)
    verify = _choose_commands(overrides.verify, repository_settings.verify, "projects.verify")
    steps = found.steps if setup is None else _as_steps(setup, found)
    detected = detect_services(files)
    services = choose_services(overrides.services, repository_settings.services, detected.wanted)
    return replace(
        found,
        steps=steps,
        hosts=hosts_in_files(files, steps),
        silent=tools_without_hosts(files, steps),
        checks=found.checks if verify is None else tuple(SetupStep(command, why=by) for command, by in verify),
        other_steps=found.other_steps if setup is None else (),
        other_checks=found.other_checks if verify is None else (),
        teardown=overrides.teardown or repository_settings.teardown,
        copy=tuple(dict.fromkeys((*overrides.copy, *repository_settings.copy))),
        servers={
            **found.servers,
            **_servers(repository_settings.run, FILE),
            **_servers(overrides.servers, "projects.run"),
        },
        services=services,
        addresses=detected.addresses,
    )


def _servers(commands: Mapping[str, str], by: str) -> dict[str, SetupStep]:
    return {name: SetupStep(command, why=by) for name, command in commands.items()}


def _choose_commands(
    operator_choice: tuple[str, ...] | None, repository_settings: tuple[str, ...] | None, key: str
) -> tuple[tuple[str, str], ...] | None:
    """Returns commands, each with its origin; None if neither settings name any."""
    if operator_choice is None:
        return ()
    if operator_choice:
        return tuple((command, key) for command in operator_choice)
    return None if repository_settings is None else tuple((command, FILE) for command in repository_settings)


def _as_steps(commands: tuple[tuple[str, str], ...], found: SetupPlan) -> tuple[SetupStep, ...]:
    """Makes steps without a folder; they are repeated, and create files, as the detected steps would."""
    locks = tuple(lock for step in found.steps for lock in step.locks)
    makes = tuple(dict.fromkeys(pattern for step in found.steps for pattern in step.makes))
    return tuple(SetupStep(command, why=by, locks=locks, makes=makes) for command, by in commands)
