"""Chooses the services that a worktree gets, and says which it lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.domain.service import SERVICE_NAMES, ServiceMounts, ServiceProgram, WantedService
from bot.domain.setup_plan import SetupPlan
from bot.setup.services.images import TITLES
from bot.setup.services.programs import SOCKETS, InstalledServers, accounts_of, advice_for, program_for

_NOT_STARTED = "Treehand cannot start it; tests that need it will fail"


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    started: tuple[tuple[WantedService, ServiceProgram], ...] = ()
    lacking: tuple[str, ...] = ()
    """Sentences on what the repository asks for and does not get."""
    missing: tuple[str, ...] = ()
    """Sentences on what the settings name and is not installed: setup cannot succeed."""

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
        elif wanted.is_required:
            missing.append(f"{_needs(wanted)}, which is not installed. Install it, {advice_for(wanted.name)}")
        elif wanted.name in SERVICE_NAMES:
            why = f"it is not installed; tests that need it will fail. Install it, {advice_for(wanted.name)}"
            lacking.append(f"{_needs(wanted)}: {why}")
        else:
            lacking.append(f"{_needs(wanted)}: {_NOT_STARTED}")
    return ServiceChoice(tuple(started), tuple(lacking), tuple(missing))


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
