"""Chooses the services that a worktree gets, and says which it lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.domain.service import SERVICE_NAMES, ServiceMounts, ServiceProgram, WantedService
from bot.domain.setup_plan import SetupPlan
from bot.setup.services.images import TITLES
from bot.setup.services.programs import (
    SOCKETS,
    InstalledServers,
    accounts_of,
    advice_for,
    has_extension,
    program_for,
)


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    started: tuple[tuple[WantedService, ServiceProgram], ...] = ()
    lacking: tuple[str, ...] = ()
    """Sentences on what the repository asks for and does not get."""
    missing: tuple[str, ...] = ()
    """Parts of sentences on what the settings name and is not there: setup cannot succeed."""

    @property
    def lines(self) -> Sequence[str]:
        """Says to people what will be started."""
        started = (
            f"{_needs(wanted)}: {program.title} is started for each worktree" for wanted, program in self.started
        )
        return (*started, *self.lacking, *self.missing)

    def mounts(self, data: Path, addresses: Mapping[str, str]) -> ServiceMounts | None:
        if not self.started:
            return None
        variables = {
            name: value for wanted, program in self.started for name, value in _variables(wanted, program).items()
        }
        hosts = tuple(dict.fromkeys(host for wanted, _ in self.started for host in wanted.hosts))
        programs = tuple(program for _, program in self.started)
        summary = tuple(_summary(wanted, program) for wanted, program in self.started)
        return ServiceMounts(data, programs, hosts, {**variables, **addresses}, summary)


def choose(installed: InstalledServers, plan: SetupPlan) -> ServiceChoice:
    started, lacking, missing = [], [], []
    for wanted in plan.services:
        server = installed.find(wanted)
        if server:
            started.append((wanted, program_for(server, wanted)))
            if wanted.extension and not has_extension(server, wanted.extension):
                lacking.append(f"{server.title} has no extension {wanted.extension} here; tests that need it will fail")
        elif wanted.is_required:
            missing.append(f"{_needs(wanted)}{_why_missing(installed, wanted)}")
        else:
            lacking.append(f"{_needs(wanted)}{_why_missing(installed, wanted)}; tests that need it will fail")
    return ServiceChoice(tuple(started), tuple(lacking), tuple(missing))


def _why_missing(installed: InstalledServers, wanted: WantedService) -> str:
    if wanted.name not in SERVICE_NAMES:
        return ": Treehand cannot start it"
    if not installed.has_sandbox:
        return ", which is started only in the sandbox"
    return f", which is not installed ({advice_for(wanted.name)})"


def _needs(wanted: WantedService) -> str:
    version = f" {wanted.version}" if wanted.version else ""
    return f"needs {TITLES.get(wanted.name, wanted.name)}{version} ({wanted.why})"


def _summary(wanted: WantedService, program: ServiceProgram) -> str:
    first = accounts_of(wanted)[0] if wanted.name in SOCKETS else None
    more = f", user {first.user}{f', database {first.database}' if first.database else ''}" if first else ""
    return f"{program.title} at localhost:{program.port}{more}"


def _variables(wanted: WantedService, program: ServiceProgram) -> dict[str, str]:
    """The variables that the service's own clients read."""
    port = str(program.port)
    if wanted.name == "postgres":
        first = accounts_of(wanted)[0]
        named = {"PGUSER": first.user, "PGPASSWORD": first.password, "PGDATABASE": first.database}
        return {"PGHOST": "localhost", "PGPORT": port, **{name: value for name, value in named.items() if value}}
    if wanted.name == "mysql":
        socket = f"{SOCKETS['mysql']}/mysqld.sock"
        return {"MYSQL_HOST": "127.0.0.1", "MYSQL_TCP_PORT": port, "MYSQL_UNIX_PORT": socket}
    return {}
