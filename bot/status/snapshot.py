"""What is going on, for whoever asks; also while no daemon runs, and without any network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from bot.app import desk_of, store_of, transcripts_of
from bot.domain.health import Health, healths
from bot.domain.names import branch_for, turn_id_for
from bot.domain.pull_request import PullRequest
from bot.domain.run import Phase, Run
from bot.domain.turn import Progress
from bot.engine.circuit_breaker import clock_time, notices
from bot.services.github.connect import OURS, holder_in_words
from bot.services.local.server import Desk
from bot.settings import ProjectSettings, Settings
from bot.status.as_json import Glimpse, Picture
from bot.store.runs import RunStore
from bot.system import clock
from bot.system.database import damaged_copies
from bot.system.disk import Disk
from bot.system.locks import owner_of
from bot.workspace.paths import Places, trouble_of

if TYPE_CHECKING:
    from bot.services.github.http_cache import Memory
    from bot.services.github.offline import Recollection


def picture(
    settings: Settings, live: Mapping[str, Progress] = MappingProxyType({}), *, by_daemon: bool = False
) -> Picture:
    """Opens what it needs, so any thread may ask. `live`, by turn id: what only the daemon itself knows by now."""
    desk, store, now = desk_of(settings), store_of(settings), clock.now()
    memory, of_linear = _memory(settings), _memory_of_linear(settings)
    try:
        runs = store.latest(ended_since=clock.day_of(now))
        glimpses: dict[str, Glimpse] = {}
        for project in settings.projects:
            ours = [run for run in runs if run.project == project.name]
            branches = [branch_for(run) for run in ours]
            titles = _titles(project, desk, memory, of_linear)
            known = _glimpses(ours, titles, _pulls(project, branches, desk, memory), settings)
            urls = _addresses(project, memory, of_linear)
            glimpses |= {run.id: replace(known[run.id], url=urls.get(run.key, "")) for run in ours}
        glimpses |= {run.id: _as_of_now(run, glimpses[run.id], live) for run in runs if run.id in glimpses}
        for run_id, seconds in _etas(settings, store, runs, now).items():
            glimpses[run_id] = replace(glimpses.get(run_id, Glimpse()), eta_seconds=seconds)
        spent = store.spent(since=clock.day_of(now))
        house = House(settings, store, memory, of_linear).health(runs, spent, now)
        told = store.tidings.ailments().items() if by_daemon or owner_of(settings.state_dir) else ()
        heard = {name: one.health for name, one in told if is_live(name)}
        return Picture(now, runs, glimpses, spent, settings.budget.per_day_usd, {**house, **heard})
    finally:
        store.close()
        desk.close()
        for opened in (memory, of_linear):
            if opened:
                opened.close()


def glimpse(settings: Settings, run: Run) -> Glimpse:
    """Of a run that may be over for long."""
    desk, memory, of_linear = desk_of(settings), _memory(settings), _memory_of_linear(settings)
    try:
        project = next((one for one in settings.projects if one.name == run.project), None)
        if project is None:
            return Glimpse()
        titles = _titles(project, desk, memory, of_linear)
        return _glimpses([run], titles, _pulls(project, [branch_for(run)], desk, memory), settings)[run.id]
    finally:
        desk.close()
        for opened in (memory, of_linear):
            if opened:
                opened.close()


@dataclass(frozen=True, slots=True)
class House:
    """Everything runs depend on, as far as it can be seen without asking anybody."""

    settings: Settings
    store: RunStore
    memory: "Memory | None"
    of_linear: "Memory | None"

    @classmethod
    def open(cls, settings: Settings, store: RunStore) -> Self:
        """For whoever looks often. The store stays its owner's."""
        return cls(settings, store, _memory(settings), _memory_of_linear(settings))

    def close(self) -> None:
        for opened in (self.memory, self.of_linear):
            if opened:
                opened.close()

    def health(self, runs: Sequence[Run], spent: float, now: float) -> Mapping[str, Health]:
        paused = notices(runs, self.store.endings(), now)
        return healths(
            {
                **_health(self.settings),
                **_budget(spent, self.settings.budget.per_day_usd),
                **_services("github", self.memory),
                **_services("linear", self.of_linear),
                **_held("GitHub", self.memory, now),
                **_held("Linear", self.of_linear, now),
                **_claims(self.settings),
                **_pools(self.settings),
                **{name: (False, why) for name, why in paused.items()},
            }
        )


def is_live(name: str) -> bool:
    """Only a daemon knows of it, and leaves word."""
    return name.partition(" ")[0] in {"look", "notify", "quota", "gate"}


def _budget(spent: float, limit: float) -> Mapping[str, tuple[bool, str]]:
    if not limit:
        return {}
    words = f"${spent:.2f} of ${limit:.2f} are spent today"
    return {"budget": (spent < limit, words if spent < limit else f"{words}; nothing new starts before 00:00 UTC")}


def _held(service: str, memory: "Memory | None", now: float) -> Mapping[str, tuple[bool, str]]:
    """That we were told to keep away for a while, and for how long."""
    if memory is None:
        return {}
    from bot.services.http.availability import holds

    until = max(holds(memory, now=now).values(), default=0.0)
    words = f"{service} asked us to wait; this goes on at {clock_time(until, now)}"
    return {f"limits {service}": (False, words)} if until > now else {}


def _memory(settings: Settings) -> "Memory | None":
    """What the daemon has seen of GitHub; none where no project is there."""
    if not any("github" in {project.tracker, project.forge} for project in settings.projects):
        return None
    from bot.services.github.http_cache import open_memory

    return open_memory(settings.state_dir / "github.db")


def _memory_of_linear(settings: Settings) -> "Memory | None":
    if not any(project.tracker == "linear" for project in settings.projects):
        return None
    from bot.services.linear.memory import open_memory

    return open_memory(settings.state_dir / "linear.db")


def _titles(
    project: ProjectSettings, desk: Desk, memory: "Memory | None", of_linear: "Memory | None"
) -> Mapping[str, str]:
    if project.tracker == "linear" and of_linear:
        from bot.services.linear.cache import Notebook

        return Notebook(of_linear).titles()
    if project.tracker == "local" or memory is None:
        return desk.issues(project.name).titles()
    titles = _recollection(memory, project).titles()
    return {f"{project.repository}#{number}": title for number, title in titles.items()}


def _addresses(project: ProjectSettings, memory: "Memory | None", of_linear: "Memory | None") -> Mapping[str, str]:
    """Of issues, where they have a page of their own."""
    if project.tracker == "linear" and of_linear:
        from bot.services.linear.cache import Notebook

        return Notebook(of_linear).addresses()
    if project.tracker == "local" or memory is None:
        return {}
    found = _recollection(memory, project).addresses()
    return {f"{project.repository}#{number}": url for number, url in found.items()}


def _pulls(
    project: ProjectSettings, branches: Sequence[str], desk: Desk, memory: "Memory | None"
) -> Mapping[str, PullRequest]:
    if project.forge == "github" and memory:
        return _recollection(memory, project).pulls()
    pulls, _ = desk.pulls(project.name).snapshot(branches, desk.repository(project.name).tips())
    return pulls


def _recollection(memory: "Memory", project: ProjectSettings) -> "Recollection":
    from bot.services.github.cache import Notebook
    from bot.services.github.offline import Recollection

    return Recollection(Notebook(memory, project.repository))


def _services(service: str, memory: "Memory | None") -> Mapping[str, tuple[bool, str]]:
    """Only what is not well: a service that answers needs no line."""
    if memory is None:
        return {}
    from bot.services.http.availability import standings

    found = standings(memory).items()
    wrong = {f"{service} {name}".strip(): (ok, detail) for name, (ok, detail) in found if not ok}
    return wrong or {service: (True, "answers")}


def _claims(settings: Settings) -> Mapping[str, tuple[bool, str]]:
    """Repositories that another daemon acts on, as the one that stands by here last saw it."""
    there = [project.name for project in settings.projects if project.forge == "github"]
    if not there or not settings.limits.claim_seconds or not owner_of(settings.state_dir):
        return {}
    from bot.workspace.lease_ref import find_seen

    seen = {name: find_seen(Places(settings.state_dir, name).mirror) for name in there}
    words = {name: holder_in_words(settings, entry) for name, entry in seen.items() if entry}
    return {
        f"claim {name}": (False, f"{held}; this one stands by")
        for name, held in words.items()
        if held not in {"", OURS}
    }


def _pools(settings: Settings) -> Mapping[str, tuple[bool, str]]:
    """Projects for which no worktree can be made ahead."""
    wished = [one.name for one in settings.projects if one.pool]
    found = {name: trouble_of(Places(settings.state_dir, name)) for name in wished}
    return {f"pool {name}": (False, f"nothing is made ahead: {why}") for name, why in found.items() if why}


def _glimpses(
    runs: Sequence[Run], titles: Mapping[str, str], pulls: Mapping[str, PullRequest], settings: Settings
) -> Mapping[str, Glimpse]:
    transcripts = transcripts_of(settings)
    worktrees = _worktrees(settings, runs)
    return {
        run.id: Glimpse(
            title=titles.get(run.key) or _title(pulls.get(branch_for(run))),
            agent=settings.agent.kind,
            worktree=worktrees.get(run.id, ""),
            doing=transcripts.last_deed(run.id) if run.phase is Phase.WORKING and not 0 < run.ended == run.turn else "",
            todos=transcripts.todos(run.id) if run.phase in {Phase.WORKING, Phase.ASKING} else (),
            pull_request=pulls.get(branch_for(run)),
        )
        for run in runs
    }


def _worktrees(settings: Settings, runs: Sequence[Run]) -> Mapping[str, str]:
    """By run id; those of one project. Hundreds of files are not asked for one by one."""
    if not runs or not (places := Places(settings.state_dir, runs[0].project)).worktrees.is_dir():
        return {}
    there = {folder.name for folder in places.worktrees.iterdir()}
    folders = {run.id: places.of(branch_for(run)).folder for run in runs}
    return {run_id: str(folder) for run_id, folder in folders.items() if folder.name in there}


def _etas(settings: Settings, store: RunStore, runs: Sequence[Run], now: float) -> Mapping[str, float]:
    if not any(run.phase is Phase.QUEUED for run in runs):
        return {}
    from bot.engine.queue_estimate import Pace, etas

    pace = Pace(store.typical_seconds(), settings.limits.working, settings.limits.working_per_project)
    return etas(runs, pace, now)


def _as_of_now(run: Run, glimpse: Glimpse, live: Mapping[str, Progress]) -> Glimpse:
    """Transcripts lag behind."""
    progress = live.get(turn_id_for(run, run.turn))
    if progress is None:
        return glimpse
    return replace(glimpse, doing=progress.doing or glimpse.doing, todos=progress.todos or glimpse.todos)


def _title(pull: PullRequest | None) -> str:
    """Of what is over the issue may not be known any more."""
    return pull.title if pull else ""


def _health(settings: Settings) -> Mapping[str, tuple[bool, str]]:
    level = Disk(settings.state_dir, settings.limits.free_disk_gb).level()
    pid = owner_of(settings.state_dir)
    return {
        "daemon": (bool(pid), f"running as pid {pid}" if pid else "not running: start it with `treehand run`"),
        "disk": (not level.lack, level.lack or str(level)),
        "sandbox": _sandbox(settings),
        **({"database": (False, damaged)} if (damaged := what_was_damaged(settings)) else {}),
    }


def what_was_damaged(settings: Settings) -> str:
    """And lies aside now, in words; empty: nothing."""
    names = ("treehand.db", "github.db", "linear.db")
    aside = [copy.name for name in names for copy in damaged_copies(settings.state_dir / name)]
    if not aside:
        return ""
    return f"was damaged and begun anew; what it held: {', '.join(aside)}. Remove that when you need it no more"


def _sandbox(settings: Settings) -> tuple[bool, str]:
    """As chosen; that it holds is tried at every start of the daemon, and by `treehand check`."""
    if settings.sandbox.kind == "none":
        return False, "none: agents run with your own rights"
    return True, settings.sandbox.kind
