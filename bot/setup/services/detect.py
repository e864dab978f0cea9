"""Detects the services that a repository asks for: in compose files, workflows and examples of `.env`. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.domain.service import SERVICE_NAMES, WantedService
from bot.setup.repository_files import RepositoryFiles, nested_table
from bot.setup.services.container import wanted_service
from bot.setup.services.env_examples import EXAMPLES, addresses_in, example_variables, wanted_at
from bot.setup.services.read_yaml import read_yaml

_COMPOSE = re.compile(
    r"(?:\.devcontainer/|docker/|\.docker/)?(?:docker-)?compose(?:[.-](?:test|tests|testing|ci|dev|local|services))?\.ya?ml"
)
_WORKFLOW = re.compile(r"\.github/workflows/[^/]{1,100}\.ya?ml")
_HAS_SERVICES = re.compile(r"^ {1,20}services:", re.MULTILINE)
_MAX_FILES = 20


@dataclass(frozen=True, slots=True)
class DetectedServices:
    wanted: tuple[WantedService, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Variables of the repository's example of `.env` with the address of one of these services."""


def detect_services(files: RepositoryFiles) -> DetectedServices:
    """Each service is there once, with what all files say of it."""
    examples = {name: example_variables(files.text(name)) for name in EXAMPLES if name in files.names}
    known = {name: value for example in reversed(examples.values()) for name, value in example.items()}
    found = [*_in_compose(files, known), *_in_workflows(files, known)]
    hosts = {host for one in found for host in one.hosts}
    addresses = {}
    for file, variables in examples.items():
        for name, value, host in addresses_in(variables):
            if name not in addresses and (one := wanted_at(value, file, hosts)):
                found.append(replace(one, hosts=(host,) if host in hosts else ()))
                addresses[name] = value
    return DetectedServices(_merged(found), addresses)


def choose_services(
    operator_choice: tuple[str, ...] | None, repository_choice: tuple[str, ...] | None, found: Sequence[WantedService]
) -> tuple[WantedService, ...]:
    """The operator's settings first, then the repository's; without either, what was detected."""
    chosen, by = (operator_choice, "projects.services") if operator_choice != () else (repository_choice, "services")
    if operator_choice is None:
        return ()
    if chosen is None:
        return tuple(found)
    by_name = {one.name: one for one in found}
    return tuple(
        replace(by_name.get(name, WantedService(name, why=by)), is_required=True) for name in dict.fromkeys(chosen)
    )


def _in_compose(files: RepositoryFiles, known: Mapping[str, str]) -> Iterator[WantedService]:
    for file in _some(name for name in files.names if _COMPOSE.fullmatch(name)):
        for name, service in nested_table(read_yaml(files.text(file)), "services").items():
            if wanted := wanted_service(name, service, file, known):
                yield wanted


def _in_workflows(files: RepositoryFiles, known: Mapping[str, str]) -> Iterator[WantedService]:
    for file in _some(name for name in files.names if _WORKFLOW.fullmatch(name)):
        text = files.text(file)
        if not _HAS_SERVICES.search(text):  # reading YAML takes a while
            continue
        for job in nested_table(read_yaml(text), "jobs").values():
            for name, service in nested_table(job if isinstance(job, dict) else {}, "services").items():
                if wanted := wanted_service(name, service, file.rpartition("/")[2], known):
                    yield wanted


def _some(names: Iterator[str]) -> Sequence[str]:
    return sorted(names, key=lambda name: (len(name), name))[:_MAX_FILES]


def _merged(found: Sequence[WantedService]) -> tuple[WantedService, ...]:
    """One of each name; those that can be started come first."""
    order = [*SERVICE_NAMES, *(one.name for one in found)]
    return tuple(
        _as_one([one for one in found if one.name == name])
        for name in dict.fromkeys(order)
        if any(one.name == name for one in found)
    )


def _as_one(same: Sequence[WantedService]) -> WantedService:
    return WantedService(
        same[0].name,
        next((one.version for one in same if one.version), ""),
        ", ".join(dict.fromkeys(one.why for one in same)),
        tuple(dict.fromkeys(port for one in same for port in one.ports)),
        tuple(dict.fromkeys(account for one in same for account in one.accounts)),
        tuple(dict.fromkeys(host for one in same for host in one.hosts)),
        next((one.extension for one in same if one.extension), ""),
    )
