"""Metrics of a running daemon, for `/metrics`. Totals come from the database, so that a restart resets nothing.

Rule: the database is read in a thread beside the loop. A label is a project or one of a few fixed words, never text of
an issue or a comment.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bot import __version__
from bot.domain.run import Phase, Run
from bot.domain.turn import Failure
from bot.domain.verification import CheckResult
from bot.status.prometheus_format import MetricValues, counter, gauge
from bot.system import clock
from bot.system.disk import Disk

if TYPE_CHECKING:
    from bot.settings.schema import Settings
    from bot.status.health import HealthReader
    from bot.status.health_monitor import HealthMonitor

_GB = 1e9


async def collect_metrics(monitor: "HealthMonitor", unreachable: Collection[str]) -> Sequence[MetricValues]:
    """`unreachable`: the projects that the last tick could not read."""
    read = await monitor.reader.read(lambda health: list(_stored_metrics(health)))
    return [*_live_metrics(monitor, unreachable, is_ready=await monitor.is_ready()), *read]


def _live_metrics(monitor: "HealthMonitor", unreachable: Collection[str], *, is_ready: bool) -> Iterator[MetricValues]:
    yield gauge("build_info", "Version of Treehand, as a label.", ({"version": __version__}, 1))
    yield gauge("ready", "1 if `/readyz` answers 200.", ({}, is_ready))
    yield from _loop_metrics(monitor, unreachable)
    yield from _service_metrics(monitor)
    yield from _channel_metrics(monitor)


def _stored_metrics(health: "HealthReader") -> Iterator[MetricValues]:
    names = _projects(health)
    yield from _run_metrics(health, names)
    yield from _turn_metrics(health, names)
    yield from _money_metrics(health, names)
    yield from _host_metrics(health)


def _run_metrics(health: "HealthReader", names: Sequence[str]) -> Iterator[MetricValues]:
    found, active, now = health.store.statistic_sums().runs(), health.store.active(), clock.now()
    yield gauge(
        "runs", "Runs by phase; `done` counts all runs ever.",
        *(({"project": name, "phase": phase}, found.get((name, phase), 0)) for name in names for phase in Phase),
    )  # fmt: skip
    waits = {name: [now - run.changed_at for run in active if _waits(run, name)] for name in names}
    yield gauge(
        "queue_oldest_seconds", "Seconds that the first run of the queue has waited; 0 if none waits.",
        *(({"project": name}, max([0.0, *waiting])) for name, waiting in waits.items()),
    )  # fmt: skip
    results = Counter((run.project, _result_of(run)) for run in active if run.checks.verification)
    yield gauge(
        "runs_verified", "Active runs by the result of their last verification.",
        *(({"project": name, "result": one}, results[name, one]) for name in names for one in _RESULTS),
    )  # fmt: skip
    working = sum(run.phase is Phase.WORKING for run in active)
    yield gauge("slots", "Agents that may work at the same time.", ({}, health.settings.limits.working))
    yield gauge("slots_taken", "Agents that are working.", ({}, working))


def _waits(run: Run, project: str) -> bool:
    return run.project == project and run.phase is Phase.QUEUED


_RESULTS = ("good", "broken", "unknown")


def _result_of(run: Run) -> str:
    """Tests that failed on the base as well do not count."""
    found = run.checks.verification
    if found is None or found.problem or found.result is CheckResult.UNCOUNTED:
        return "unknown"
    return "broken" if found.regressions else "good"


def _turn_metrics(health: "HealthReader", names: Sequence[str]) -> Iterator[MetricValues]:
    sums = health.store.statistic_sums()
    started, ended = sums.turns_started(), sums.turns_ended()
    yield counter("turns_started", "Turns started.", *(({"project": one}, started.get(one, 0)) for one in names))
    yield counter(
        "turns_ended", "Turns ended, by outcome: `succeeded`, or the class of the failure.",
        *(
            ({"project": name, "outcome": failure or "succeeded"}, ended.get((name, failure), 0))
            for name in names for failure in Failure
        ),
    )  # fmt: skip


def _money_metrics(health: "HealthReader", names: Sequence[str]) -> Iterator[MetricValues]:
    sums = health.store.statistic_sums()
    spent, today = sums.spent(), sums.spent_since(clock.day_of(clock.now()))
    known = {name: spent[name] for name in names if name in spent}
    yield counter("spent_usd", "Dollars spent, ever.", *(({"project": name}, one.usd) for name, one in known.items()))
    yield counter("tokens", "Tokens used, ever.", *(({"project": name}, one.tokens) for name, one in known.items()))
    yield counter(
        "agent_seconds",
        "Seconds agents have worked, ever.",
        *(({"project": name}, one.seconds) for name, one in known.items()),
    )
    yield gauge(
        "spent_today_usd", "Dollars spent since 00:00 UTC.", *(({"project": one}, today.get(one, 0.0)) for one in names)
    )
    yield gauge(
        "budget_day_usd", "Dollars that may be spent in a day; 0: no limit.", ({}, health.settings.budget.per_day_usd)
    )


def _loop_metrics(monitor: "HealthMonitor", unreachable: Collection[str]) -> Iterator[MetricValues]:
    ticks = monitor.ticks
    yield counter("ticks", "Ticks since the start.", ({}, ticks.count))
    yield counter("ticks_postponed", "Ticks that failed as a whole.", ({}, ticks.postponed))
    yield counter("tick_seconds", "Seconds spent in ticks.", ({}, ticks.seconds))
    names = [project.name for project in monitor.settings.projects]
    yield gauge(
        "project_polled", "1 if the last poll of the project succeeded.",
        *(({"project": name}, name not in unreachable) for name in names),
    )  # fmt: skip


def _service_metrics(monitor: "HealthMonitor") -> Iterator[MetricValues]:
    counts = monitor.request_counts
    yield counter(
        "requests", "Requests to services since the start, by HTTP status; `none` stands for no answer.",
        *(
            ({"service": name, "status": _status(status)}, times)
            for name, one in counts.items() for status, times in sorted(one.answers.items())
        ),
    )  # fmt: skip
    yield gauge(
        "rate_limit_left", "Remaining rate limit of a service, from its last answer.",
        *(
            ({"service": name, "limit": limit}, left)
            for name, one in counts.items() for limit, left in one.remaining.items()
        ),
    )  # fmt: skip
    yield counter(
        "model_answers", "Answers of the model to agents since the start, by HTTP status.",
        *(({"status": _status(status)}, times) for status, times in sorted(monitor.model_answers.items())),
    )  # fmt: skip


def _status(status: int) -> str:
    """A status outside of HTTP's range becomes `other`, so that a server cannot add labels."""
    return (str(status) if 100 <= status < 600 else "other") if status else "none"  # noqa: PLR2004 - as HTTP has it


def _host_metrics(health: "HealthReader") -> Iterator[MetricValues]:
    level = Disk(health.settings.state_dir, health.settings.limits.free_disk_gb).level()
    yield gauge("disk_free_bytes", "Free on the disk of `state_dir`.", ({}, level.free_gb * _GB))
    yield gauge("disk_least_bytes", "Below this no turn starts.", ({}, level.min_free_gb * _GB))
    yield gauge(
        "worktrees", "Worktrees on the disk.",
        *(({"project": name}, count) for name, count in _worktrees(health.settings).items()),
    )  # fmt: skip
    records = health.store.notifications.health_records().values()
    yield gauge(
        "healthy", "1 if a dependency is healthy, as in `treehand status --json`.",
        *(({"name": one.health.name}, one.health.ok) for one in records),
    )  # fmt: skip


def _worktrees(settings: "Settings") -> Mapping[str, int]:
    from bot.workspace.paths import ProjectPaths

    folders = {one.name: ProjectPaths(settings.state_dir, one.name).worktrees for one in settings.projects}
    return {
        name: sum(path.is_dir() and not path.is_symlink() for path in folder.iterdir()) if folder.is_dir() else 0
        for name, folder in folders.items()
    }


def _channel_metrics(monitor: "HealthMonitor") -> Iterator[MetricValues]:
    known = monitor.notifier.channels()
    yield counter(
        "notifications_sent", "Notifications delivered.", *(({"channel": name}, one.sent) for name, one in known)
    )
    yield counter(
        "notifications_failed", "Deliveries that failed.", *(({"channel": name}, one.failed) for name, one in known)
    )


def _projects(health: "HealthReader") -> list[str]:
    """Projects of the settings, and earlier ones in the database."""
    return sorted({one.name for one in health.settings.projects} | set(health.store.statistic_sums().turns_started()))
