"""Dashboard data: reads what all pages show, safe in any thread because every read opens what it needs."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from bot.domain.health import Health
from bot.domain.history import History
from bot.domain.run import JournalEntry, Run
from bot.domain.turn import Progress
from bot.services.registry import forge_of, is_kept_here, tracker_of
from bot.settings.schema import Settings
from bot.status.as_json import StatusSnapshot
from bot.status.health import list_health
from bot.status.interface import ProjectSite
from bot.status.setup_report import SetupReports
from bot.status.snapshot import read_status
from bot.store.build import open_store
from bot.store.statistics import history_since


@dataclass(slots=True)
class DashboardData:
    """The port `DashboardReader`."""

    settings: Settings
    live: Callable[[], Mapping[str, Progress]]
    """Keyed by turn id: progress that only the daemon knows yet."""
    schedule: Callable[[], Mapping[str, str]] = dict
    """Keyed by name: when something is due, in words."""
    _setup_reports: SetupReports = field(init=False)

    def __post_init__(self) -> None:
        self._setup_reports = SetupReports(self.settings)

    @property
    def label(self) -> str:
        return self.settings.label

    def projects(self) -> Sequence[ProjectSite]:
        return [
            ProjectSite(
                one.name,
                tracker_of(one).place_of(one),
                has_own_forge=forge_of(one).kept_here,
                is_kept_here=is_kept_here(one),
            )
            for one in self.settings.projects
        ]

    def snapshot(self) -> StatusSnapshot:
        """The daemon that answers is running, whatever its lock says."""
        status = read_status(self.settings, self.live(), by_daemon=True)
        return replace(
            status,
            health={**status.health, "daemon": Health("daemon", ok=True, detail=f"running as pid {os.getpid()}")},
        )

    def health(self) -> Sequence[Health]:
        return list_health(self.settings, self.snapshot().health, self.schedule())

    def setup_reports(self) -> Mapping[str, Sequence[Health]]:
        return self._setup_reports.read()

    def history(self, since: float) -> History:
        return history_since(self.settings.state_dir / "treehand.db", since)

    def find_run(self, key: str) -> Run | None:
        with closing(open_store(self.settings)) as store:
            return store.find_with_cost(key)

    def journal(self, run: Run) -> Sequence[JournalEntry]:
        with closing(open_store(self.settings)) as store:
            return store.journal(run)
