"""Every figure of a running daemon, for `/metrics`. What the ledgers know is read from them: a restart resets nothing.

Rule: what is written is read beside the loop. A label is a project, or one of a few words of ours; never what an issue
or a comment says.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bot import __version__
from bot.domain.run import Phase, Run
from bot.domain.turn import Failure
from bot.status.prometheus import Figure, counter, gauge
from bot.system import clock
from bot.system.disk import Disk

if TYPE_CHECKING:
    from bot.app import App
    from bot.settings import Settings
    from bot.status.snapshot import House

_GB = 1e9


async def measures_of(app: "App") -> Sequence[Figure]:
    read = await app.vitals.reader.read(lambda house: list(_of_what_is_written(house)))
    return [*_of_what_the_daemon_knows(app), *read]


def _of_what_the_daemon_knows(app: "App") -> Iterator[Figure]:
    yield gauge("build_info", "Which version this is.", ({"version": __version__}, 1))
    yield from _of_the_loop(app)
    yield from _of_services(app)
    yield from _of_channels(app)


def _of_what_is_written(house: "House") -> Iterator[Figure]:
    names = _projects(house)
    yield from _of_runs(house, names)
    yield from _of_turns(house, names)
    yield from _of_money(house, names)
    yield from _of_the_house(house)


def _of_runs(house: "House", names: Sequence[str]) -> Iterator[Figure]:
    found, active, now = house.store.sums().runs(), house.store.active(), clock.now()
    yield gauge(
        "runs", "Runs by phase; `done` are all there ever were.",
        *(({"project": name, "phase": phase}, found.get((name, phase), 0)) for name in names for phase in Phase),
    )  # fmt: skip
    waits = {name: [now - run.changed_at for run in active if _waits(run, name)] for name in names}
    yield gauge(
        "queue_oldest_seconds", "How long the run at the head of the queue has waited; 0: none waits.",
        *(({"project": name}, max([0.0, *waiting])) for name, waiting in waits.items()),
    )  # fmt: skip
    results = Counter((run.project, _result_of(run)) for run in active if run.verification)
    yield gauge(
        "runs_verified", "Runs under way by what their last verification found.",
        *(({"project": name, "result": one}, results[name, one]) for name in names for one in _RESULTS),
    )  # fmt: skip
    working = sum(run.phase is Phase.WORKING for run in active)
    yield gauge("slots", "Agents that may work at once.", ({}, house.settings.limits.working))
    yield gauge("slots_taken", "Agents that do.", ({}, working))


def _waits(run: Run, project: str) -> bool:
    return run.project == project and run.phase is Phase.QUEUED


_RESULTS = ("good", "broken", "unknown")


def _result_of(run: Run) -> str:
    """Red that was red before is no fault of the change."""
    found = run.verification
    if found is None or found.trouble:
        return "unknown"
    return "broken" if found.broken else "good"


def _of_turns(house: "House", names: Sequence[str]) -> Iterator[Figure]:
    sums = house.store.sums()
    started, ended = sums.turns_started(), sums.turns_ended()
    yield counter(
        "turns_started", "Turns that were begun.", *(({"project": one}, started.get(one, 0)) for one in names)
    )
    yield counter(
        "turns_ended", "Turns that an agent brought to an end, by outcome: `succeeded`, or why it failed.",
        *(
            ({"project": name, "outcome": failure or "succeeded"}, ended.get((name, failure), 0))
            for name in names for failure in Failure
        ),
    )  # fmt: skip


def _of_money(house: "House", names: Sequence[str]) -> Iterator[Figure]:
    sums = house.store.sums()
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
        "budget_day_usd", "Dollars that may be spent in a day; 0: no limit.", ({}, house.settings.budget.per_day_usd)
    )


def _of_the_loop(app: "App") -> Iterator[Figure]:
    ticks, away = app.vitals.ticks, app.engine.away
    yield counter("ticks", "Looks at the whole world since the start.", ({}, ticks.count))
    yield counter("ticks_postponed", "Those of them that came to nothing.", ({}, ticks.postponed))
    yield counter("tick_seconds", "Seconds they took.", ({}, ticks.seconds))
    yield gauge("ready", "Whether `/readyz` says so.", ({}, app.vitals.is_ready()))
    names = [project.name for project in app.settings.projects]
    yield gauge(
        "project_looked_at", "Whether the last look at a project came to something.",
        *(({"project": name}, name not in away) for name in names),
    )  # fmt: skip


def _of_services(app: "App") -> Iterator[Figure]:
    tallies = app.vitals.tallies
    yield counter(
        "requests", "Requests to services since the start, by HTTP status; `none`: there was no answer.",
        *(
            ({"service": name, "status": _status(status)}, times)
            for name, one in tallies.items() for status, times in sorted(one.answers.items())
        ),
    )  # fmt: skip
    yield gauge(
        "rate_limit_left", "What is left of a service's limits, as it said last.",
        *(
            ({"service": name, "limit": limit}, left)
            for name, one in tallies.items() for limit, left in one.left.items()
        ),
    )  # fmt: skip
    yield counter(
        "model_answers", "What the model's service answered agents since the start, by HTTP status.",
        *(({"status": _status(status)}, times) for status, times in sorted(app.sandbox.answers.items())),
    )  # fmt: skip


def _status(status: int) -> str:
    """A server may say anything: of what HTTP does not know there is one."""
    return (str(status) if 100 <= status < 600 else "other") if status else "none"  # noqa: PLR2004 - as HTTP has it


def _of_the_house(house: "House") -> Iterator[Figure]:
    level = Disk(house.settings.state_dir, house.settings.limits.free_disk_gb).level()
    yield gauge("disk_free_bytes", "Free on the disk of `state_dir`.", ({}, level.free_gb * _GB))
    yield gauge("disk_least_bytes", "Below this nothing new starts.", ({}, level.least_gb * _GB))
    yield gauge(
        "worktrees", "Worktrees on the disk.",
        *(({"project": name}, count) for name, count in _worktrees(house.settings).items()),
    )  # fmt: skip
    ailments = house.store.tidings.ailments().values()
    yield gauge(
        "healthy", "Whether what runs depend on is well, as in `treehand status --json`.",
        *(({"name": one.health.name}, one.health.ok) for one in ailments),
    )  # fmt: skip


def _worktrees(settings: "Settings") -> Mapping[str, int]:
    from bot.workspace.paths import Places

    folders = {one.name: Places(settings.state_dir, one.name).worktrees for one in settings.projects}
    return {
        name: sum(path.is_dir() and not path.is_symlink() for path in folder.iterdir()) if folder.is_dir() else 0
        for name, folder in folders.items()
    }


def _of_channels(app: "App") -> Iterator[Figure]:
    known = app.vitals.crier.channels()
    yield counter(
        "notifications_sent", "Messages that arrived.", *(({"channel": name}, one.sent) for name, one in known)
    )
    yield counter(
        "notifications_failed", "Tries that failed.", *(({"channel": name}, one.failed) for name, one in known)
    )


def _projects(house: "House") -> list[str]:
    """Those of the settings, and those the ledgers know from before."""
    return sorted({one.name for one in house.settings.projects} | set(house.store.sums().turns_started()))
