"""Health: checks everything that runs depend on, without a request, and says what still works."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Self

from bot.domain.health import Health, health_by_name
from bot.domain.price import is_unpriced, why_guessed
from bot.domain.run import Run
from bot.engine.circuit_breaker import clock_time, pause_reasons
from bot.services.interface import OfflineReader
from bot.services.registry import SERVICES, forge_of, open_offline, tracker_of
from bot.settings.schema import Settings
from bot.store.runs import RunStore
from bot.system.clock import steady
from bot.system.database import list_damaged_copies
from bot.system.disk import Disk, describe_sizes
from bot.system.locks import daemon_pid, is_suspended
from bot.text.money import dollars
from bot.workspace.paths import ProjectPaths, read_pool_error

HealthFindings = Mapping[str, tuple[bool, str]]
"""Keyed by name: true if healthy, and a sentence about it."""

_FOLDERS = ("mirrors", "worktrees", "transcripts", "forge")
_SIZES_SECONDS = 60.0
_COUNTING_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class HealthReader:
    settings: Settings
    store: RunStore
    services: Mapping[str, OfflineReader]
    """Keyed by name."""
    _opened: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def open(cls, settings: Settings, store: RunStore) -> Self:
        """Opens it for repeated reads. The caller closes the store."""
        opened = ExitStack()
        return cls(settings, store, opened.enter_context(open_offline(settings)), opened)

    def close(self) -> None:
        self._opened.close()

    def read(self, runs: Sequence[Run], spent: float, now: float) -> Mapping[str, Health]:
        """Keyed by name."""
        findings: dict[str, tuple[bool, str]] = {**_host(self.settings), **_budget(spent, self.settings)}
        for reader in self.services.values():
            findings |= reader.availability()
        for name, reader in self.services.items():
            findings |= _rate_limit(SERVICES[name].title, reader.waits_until(now), now)
        for reader in self.services.values():
            findings |= _leases(reader.lease_holders())
        findings |= _pools(self.settings)
        findings |= _guessed_prices(self.settings, self.store.unpriced_models())
        findings |= {name: (False, why) for name, why in pause_reasons(runs, self.store.turn_outcomes(), now).items()}
        return health_by_name(findings, {name: service.still_works for name, service in SERVICES.items()})


def is_live(name: str) -> bool:
    """Returns True if only a running daemon knows and stores it."""
    return name.partition(" ")[0] in {"poll", "notify", "rate", "proxy", "settings"}


def list_health(settings: Settings, health: Mapping[str, Health], schedule: Mapping[str, str]) -> Sequence[Health]:
    """Returns everything for the health page. `schedule`: a sentence about each time, by name."""
    found = {**health, **_dependencies_without_news(settings, health)}
    if disk := found.get("disk"):
        found["disk"] = replace(disk, detail=f"{disk.detail}. {_sizes(settings)}")
    return [*found.values(), *(Health(name, ok=True, detail=words) for name, words in schedule.items())]


def describe_damaged(settings: Settings) -> str:
    """Returns a sentence about damaged databases that were set aside; empty if there are none."""
    names = ("treehand.db", "github.db", "linear.db")
    aside = [copy.name for name in names for copy in list_damaged_copies(settings.state_dir / name)]
    if not aside:
        return ""
    return f"was damaged and replaced; the old content: {', '.join(aside)}. Remove it once you no longer need it"


def _host(settings: Settings) -> HealthFindings:
    level = Disk(settings.state_dir, settings.limits.free_disk_gb).level()
    return {
        "daemon": _daemon(daemon_pid(settings.state_dir)),
        "disk": (not level.shortage, level.shortage or str(level)),
        "sandbox": _sandbox(settings),
        **({"database": (False, damaged)} if (damaged := describe_damaged(settings)) else {}),
    }


def _daemon(pid: str) -> tuple[bool, str]:
    if not pid:
        return False, "not running: start it with `treehand run`"
    if is_suspended(pid):
        return False, f"suspended as pid {pid}: `kill -CONT {pid}` continues it"
    return True, f"running as pid {pid}"


def _sandbox(settings: Settings) -> tuple[bool, str]:
    """Reports the setting: `treehand check` and every start of the daemon test the sandbox."""
    if settings.sandbox.kind == "none":
        return False, "none: agents run with the permissions of the daemon's user"
    return True, settings.sandbox.kind


def _budget(spent: float, settings: Settings) -> HealthFindings:
    limit = settings.budget.per_day_usd
    if not limit:
        return {}
    words = f"{dollars(spent)} of {dollars(limit)} are spent today"
    return {"budget": (spent < limit, words if spent < limit else f"{words}; no turn starts before 00:00 UTC")}


def _guessed_prices(settings: Settings, used: Sequence[str]) -> HealthFindings:
    """A price that was set since counts for later turns."""
    models = [model for model in used if is_unpriced(model, settings.budget.prices)]
    return {f"price {model}": (True, f"its cost is {why_guessed(model)}") for model in models}


def _rate_limit(service: str, until: float, now: float) -> HealthFindings:
    words = f"{service} asked Treehand to wait; requests continue at {clock_time(until, now)}"
    return {f"limits {service}": (False, words)} if until > now else {}


def _leases(holders: Mapping[str, str]) -> HealthFindings:
    return {f"lease {name}": (False, f"{holder}; this daemon is on standby") for name, holder in holders.items()}


def _pools(settings: Settings) -> HealthFindings:
    """Projects whose pool cannot be filled."""
    pooled = [one.name for one in settings.projects if one.pool]
    problems = {name: read_pool_error(ProjectPaths(settings.state_dir, name)) for name in pooled}
    return {f"pool {name}": (False, f"the pool is not filled: {why}") for name, why in problems.items() if why}


def _dependencies_without_news(settings: Settings, health: Mapping[str, Health]) -> Mapping[str, Health]:
    """Dependencies that `read` leaves out while they are well."""
    found = {}
    if "model" not in health:
        found["model"] = (True, f"{settings.agent.kind}, {settings.agent.model or 'which chooses its model itself'}")
    if here := [one.name for one in settings.projects if tracker_of(one).kept_here or forge_of(one).kept_here]:
        found["local tracker and forge"] = (True, f"for {', '.join(here)}")
    return health_by_name(found)


def _sizes(settings: Settings) -> str:
    return _measure_sizes(settings.state_dir, int(steady() // _SIZES_SECONDS))


@lru_cache(maxsize=4)
def _measure_sizes(state_dir: Path, _minute: int) -> str:
    """Counts thousands of files, so once a minute at most."""
    return describe_sizes([(name, state_dir / name) for name in _FOLDERS], seconds=_COUNTING_SECONDS)
