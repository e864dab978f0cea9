"""Status snapshot: reads all runs, money and health at one moment, without the daemon and without the network."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from types import MappingProxyType

from bot.domain.branch_name import branch_for
from bot.domain.pull_request import PullRequest
from bot.domain.run import Phase, Run
from bot.domain.run_names import turn_id_for
from bot.domain.turn import Progress
from bot.services.interface import OfflineReader
from bot.services.registry import open_offline
from bot.settings.schema import ProjectSettings, Settings
from bot.status.as_json import RunSummary, StatusSnapshot
from bot.status.health import HealthReader, is_live
from bot.store.build import open_store, open_transcripts
from bot.store.runs import RunStore
from bot.system import clock
from bot.system.locks import daemon_pid, is_suspended
from bot.workspace.paths import ProjectPaths

NO_DAEMON = "nothing: no daemon is running"
SUSPENDED = "nothing: the daemon is suspended"


def read_status(
    settings: Settings, live: Mapping[str, Progress] = MappingProxyType({}), *, by_daemon: bool = False
) -> StatusSnapshot:
    """Safe in any thread: it opens what it reads. `live`: by turn id, progress that only the daemon knows yet."""
    now = clock.now()
    with closing(open_store(settings)) as store, open_offline(settings) as services:
        runs = store.with_running_cost(store.latest(ended_since=clock.day_of(now)))
        summaries: dict[str, RunSummary] = {}
        for project in settings.projects:
            own = [run for run in runs if run.project == project.name]
            urls = services[project.tracker].urls(project.name)
            found = _summarize(own, project, services, settings)
            summaries |= {run.id: replace(found[run.id], url=urls.get(run.key, "")) for run in own}
        summaries |= {run.id: _with_live(run, summaries[run.id], live) for run in runs if run.id in summaries}
        idle = "" if by_daemon else _why_idle(settings)
        if idle:
            at_work = [run for run in runs if run.id in summaries and _is_at_work(run)]
            summaries |= {run.id: replace(summaries[run.id], doing=idle) for run in at_work}
        for run_id, seconds in ({} if idle else _etas(settings, store, runs, now)).items():
            summaries[run_id] = replace(summaries.get(run_id, RunSummary()), eta_seconds=seconds)
        spent = store.spent(since=clock.day_of(now))
        health = HealthReader(settings, store, services).read(runs, spent, now)
        stored = store.notifications.health_records().items() if not idle else ()
        by_monitor = {name: one.health for name, one in stored if is_live(name)}
        return StatusSnapshot(now, runs, summaries, spent, settings.budget.per_day_usd, {**health, **by_monitor})


def _why_idle(settings: Settings) -> str:
    """Returns why nothing happens to any run; empty if a daemon is at work."""
    pid = daemon_pid(settings.state_dir)
    if not pid:
        return NO_DAEMON
    return SUSPENDED if is_suspended(pid) else ""


def _is_at_work(run: Run) -> bool:
    return run.phase in {Phase.QUEUED, Phase.WORKING}


def summarize_run(settings: Settings, run: Run) -> RunSummary:
    """Also of a run that ended long ago."""
    project = next((one for one in settings.projects if one.name == run.project), None)
    if project is None:
        return RunSummary()
    with open_offline(settings) as services:
        return _summarize([run], project, services, settings)[run.id]


def _summarize(
    runs: Sequence[Run], project: ProjectSettings, services: Mapping[str, OfflineReader], settings: Settings
) -> Mapping[str, RunSummary]:
    """Keyed by run id."""
    titles = services[project.tracker].titles(project.name)
    pulls = services[project.forge].pull_requests(project.name, [branch_for(run) for run in runs])
    transcripts, worktrees = open_transcripts(settings), _worktrees(settings, runs)
    return {
        run.id: RunSummary(
            title=titles.get(run.key) or _title(pulls.get(branch_for(run))),
            agent=settings.agent.kind,
            worktree=worktrees.get(run.id, ""),
            doing=transcripts.last_action(run.id)
            if run.phase is Phase.WORKING and not 0 < run.turns.ended == run.turns.number
            else "",
            todos=transcripts.todos(run.id) if run.phase in {Phase.WORKING, Phase.ASKING} else (),
            pull_request=pulls.get(branch_for(run)),
        )
        for run in runs
    }


def _worktrees(settings: Settings, runs: Sequence[Run]) -> Mapping[str, str]:
    """Keyed by run id, for the runs of one project. Lists the folder once instead of asking for each of hundreds."""
    if not runs or not (places := ProjectPaths(settings.state_dir, runs[0].project)).worktrees.is_dir():
        return {}
    there = {folder.name for folder in places.worktrees.iterdir()}
    folders = {run.id: places.for_branch(branch_for(run)).folder for run in runs}
    return {run_id: str(folder) for run_id, folder in folders.items() if folder.name in there}


def _etas(settings: Settings, store: RunStore, runs: Sequence[Run], now: float) -> Mapping[str, float]:
    if not any(run.phase is Phase.QUEUED for run in runs):
        return {}
    from bot.engine.queue_estimate import TurnRate, etas

    rate = TurnRate(store.typical_seconds(), settings.limits.working, settings.limits.working_per_project)
    return etas(runs, rate, now)


def _with_live(run: Run, summary: RunSummary, live: Mapping[str, Progress]) -> RunSummary:
    """Transcripts lag behind."""
    progress = live.get(turn_id_for(run, run.turns.number))
    if progress is None:
        return summary
    return replace(summary, doing=progress.action or summary.doing, todos=progress.todos or summary.todos)


def _title(pull: PullRequest | None) -> str:
    """Stands in for the title of an issue that is no longer cached."""
    return pull.title if pull else ""
