"""What the dashboard may look at. Everything is opened anew where it is needed, so that any thread may look."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from bot.app import store_of, transcripts_of
from bot.domain.health import Health
from bot.domain.history import Past
from bot.domain.journal import Entry
from bot.domain.names import branch_for
from bot.domain.run import Run
from bot.domain.turn import Progress
from bot.settings import ProjectSettings, Settings
from bot.status.as_json import Picture
from bot.status.health import stations
from bot.status.interface import Site
from bot.status.setup_report import Outlooks
from bot.status.snapshot import picture
from bot.store.statistics import past_since
from bot.workspace.mirror import Mirror
from bot.workspace.paths import BASES, Places


@dataclass(slots=True)
class Showing:
    """The `Window` of whoever uses the dashboard."""

    settings: Settings
    live: Callable[[], Mapping[str, Progress]]
    """What only the daemon knows by now, by turn id."""
    beats: Callable[[], Mapping[str, str]] = dict
    """What it is going to do when, and what services still allow, in words."""
    _outlooks: Outlooks = field(init=False)

    def __post_init__(self) -> None:
        self._outlooks = Outlooks(self.settings)

    @property
    def label(self) -> str:
        return self.settings.label

    def sites(self) -> Sequence[Site]:
        return [
            Site(one.name, one.tracker, _place(one), has_own_forge=one.forge == "local")
            for one in self.settings.projects
        ]

    def picture(self) -> Picture:
        """Whoever looks through this window looks at a daemon that runs."""
        seen = picture(self.settings, self.live(), by_daemon=True)
        return replace(
            seen, health={**seen.health, "daemon": Health("daemon", ok=True, detail=f"running as pid {os.getpid()}")}
        )

    def stations(self) -> Sequence[Health]:
        return stations(self.settings, self.picture().health, self.beats())

    def outlooks(self) -> Mapping[str, Sequence[Health]]:
        return self._outlooks.look()

    def past(self, since: float) -> Past:
        return past_since(self.settings.state_dir / "treehand.db", since)

    def find_run(self, key: str) -> Run | None:
        store = store_of(self.settings)
        try:
            return store.find_run(key)
        finally:
            store.close()

    def journal(self, run: Run) -> Sequence[Entry]:
        store = store_of(self.settings)
        try:
            return store.journal(run)
        finally:
            store.close()

    def transcript(self, run: Run, *, since: int = 0) -> Sequence[Mapping[str, object]]:
        return list(islice(transcripts_of(self.settings).read(run.id), since, None))

    def diff(self, run: Run) -> str:
        mirror, branch = Mirror(Places(self.settings.state_dir, run.project).mirror), branch_for(run)
        refs = mirror.refs(f"{BASES}{branch}", f"refs/heads/{branch}") if mirror.exists() else {}
        ends = [refs.get(f"{BASES}{branch}", ""), refs.get(f"refs/heads/{branch}", "")]
        return mirror.diff(*ends).decode(errors="replace") if all(ends) else ""


def _place(project: ProjectSettings) -> str:
    return {"linear": f"Linear, team {project.team}", "github": project.repository}.get(project.tracker, "here")
