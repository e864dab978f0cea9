"""`treehand demo`: the whole story on this machine, told as it happens."""

import asyncio
import json
import socket
import sys
import time
from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bot.app import desk_of, wired
from bot.cli.demo_screen import Stage
from bot.daemon import Daemon
from bot.demo import people as story
from bot.demo.agent_script import BODIES, play
from bot.demo.model import ScriptedModel
from bot.domain.turn import TurnState
from bot.errors import CannotStart
from bot.sandbox.build import try_sandbox
from bot.services.local.server import Desk
from bot.settings import (
    Budget,
    Limits,
    Notify,
    Poll,
    ProjectSettings,
    Sandbox,
    Settings,
    Web,
    load,
    settings_file,
)
from bot.system import logs
from bot.system.locks import sole_owner
from bot.text.visible import on_one_line

_STAND_IN = (
    "The model is a scripted stand-in; everything else is real: git, worktrees, the agent's own program, SQLite."
)
_PACE_WATCHED, _PACE = 0.8, 0.1
_PORT = 8700


def demo(options: Namespace) -> None:
    folder = load(settings_file(options.config), required=False).state_dir / "demo"
    watched = sys.stdout.isatty() and not options.json
    stays = watched and not options.once
    with sole_owner(folder):
        settings = _settings(folder, _address(options.port, is_wanted=stays))
        came_back = _clear_if_told(settings)
        settings, lacking = _confined(settings)
        logs.set_up(file=folder / "treehand.log", quiet=True)
        show = _Show(watched=watched, quiet=options.json, stays=stays, resumed=came_back)
        if not options.json:
            _introduce(settings, came_back=came_back, lacking=lacking)
        asyncio.run(_perform(settings, show))
        if options.json:
            print(json.dumps(show.outcome))
        else:
            show.stage.close(show.outcome)


def _confined(settings: Settings) -> tuple[Settings, str]:
    """In the sandbox where it holds; the demo alone, whose repository and model are ours, may do without. And why."""
    trial = asyncio.run(try_sandbox(settings))
    if trial is None or trial.holds:
        return settings, ""
    return settings.model_copy(update={"sandbox": Sandbox(kind="none")}), on_one_line(str(trial))


def _address(port: int | None, *, is_wanted: bool) -> str:
    """Where the dashboard is served; empty: nowhere. Unless one is named, the usual port, or any that is free."""
    if port is None and not is_wanted:
        return ""
    return f"127.0.0.1:{port or _free_port()}"


def _free_port() -> int:
    for port in (_PORT, 0):
        with socket.socket() as one, suppress(OSError):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", port))
            return int(one.getsockname()[1])
    raise CannotStart("There is no port left for the dashboard.")


def _introduce(settings: Settings, *, came_back: bool, lacking: str) -> None:
    print(f"Treehand demo, in {settings.state_dir.parent}\n{_STAND_IN}")
    if settings.web.bind:
        print(f"Dashboard: http://{settings.web.bind}", flush=True)
    if lacking:
        print(f"Without the sandbox, which `treehand run` would insist on: {lacking}")
    if came_back:
        print("An earlier demo was interrupted: it goes on where it was.")


def _settings(folder: Path, bind: str) -> Settings:
    project = ProjectSettings(name=story.PROJECT, repository=str(folder / story.PROJECT), base="main")
    return Settings.model_construct(
        state_dir=folder / "state",
        label="ai",
        poll=Poll(interval=5),
        limits=Limits(working=3, working_per_project=3, turn_minutes=10, free_disk_gb=0.5),
        budget=Budget(per_issue_usd=0, per_day_usd=0),
        web=Web(bind=bind),
        notify=Notify(on=()),
        projects=(project,),
    )


def _clear_if_told(settings: Settings) -> bool:
    """A story that was told to its end begins anew. True: one was interrupted and goes on."""
    import shutil

    told, began = settings.state_dir / "told", settings.state_dir.exists()
    if began and not told.exists():
        return True
    shutil.rmtree(settings.state_dir, ignore_errors=True)
    shutil.rmtree(settings.projects[0].repository, ignore_errors=True)
    return False


@dataclass(slots=True)
class _Show:
    watched: bool
    quiet: bool
    stays: bool
    """Until Ctrl-C, also when the story is told."""
    resumed: bool
    """An earlier demo was interrupted, and goes on."""
    most_agents_at_once: int = 0
    began: float = field(default_factory=time.monotonic)
    outcome: dict[str, object] = field(default_factory=dict)
    stage: Stage = field(init=False)

    def __post_init__(self) -> None:
        self.stage = Stage(watched=self.watched, quiet=self.quiet)

    @property
    def pace(self) -> float:
        return _PACE_WATCHED if self.watched else _PACE


async def _perform(settings: Settings, show: _Show) -> None:
    story.make_repository(Path(settings.projects[0].repository))
    desk = desk_of(settings)
    async with ScriptedModel(play(show.pace)) as model:
        environment = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "stand-in"}
        async with wired(settings, environment) as app:
            daemon = Daemon(app)
            people = story.People(app, desk, show.stage.tell)
            with show.stage.live() if show.watched else _nothing():
                async with asyncio.TaskGroup() as group:
                    others = [group.create_task(_watch(show, people)), group.create_task(_play(show, people, daemon))]
                    await daemon.run()
                    for task in others:
                        task.cancel()
            show.outcome = {
                **_outcome(people, desk, settings, show.began),
                "most_agents_at_once": show.most_agents_at_once,
                "resumed": show.resumed,
                "sandbox": settings.sandbox.kind,
            }
    desk.close()


def _nothing() -> AbstractContextManager[None]:
    return nullcontext()


async def _play(show: _Show, people: story.People, daemon: Daemon) -> None:
    await people.live()
    (people.app.settings.state_dir / "told").touch()
    show.stage.tell("The story is told.")
    if show.stays:
        show.stage.tell(invitation(people.app.settings.web.bind))
    else:
        daemon.stop()


def invitation(address: str) -> str:
    return f"Go on yourself at http://{address} (Ctrl-C ends the demo)."


async def _watch(show: _Show, people: story.People) -> None:
    while True:
        runs = {title: (people.key(title), people.run(title)) for title in BODIES}
        reports = await people.app.executor.reports()
        running = sum(report.state is TurnState.RUNNING for report in reports.values())
        show.most_agents_at_once = max(show.most_agents_at_once, running)
        for _, run in runs.values():
            if run:
                show.stage.catch_up(run, people.app.store.journal(run))
        show.stage.draw(runs, reports)
        await asyncio.sleep(0.25)


def _outcome(people: story.People, desk: Desk, settings: Settings, began: float) -> dict[str, object]:
    """What happened, as one object."""
    runs = [run for run in map(people.run, BODIES) if run]
    proposals = desk.pulls(story.PROJECT).listed(closed=True)
    worktrees = settings.state_dir / "worktrees" / story.PROJECT
    return {
        "model": "scripted stand-in",
        "seconds": round(time.monotonic() - began, 1),
        "runs": [
            {
                "key": run.key,
                "title": next(title for title in BODIES if people.key(title) == run.key),
                "phase": run.phase,
                "reason": run.reason,
                "turns": run.turn,
                "cost_usd": round(run.spent_usd, 4),
                "tokens": run.tokens,
                "comments_heard": len(run.heard),
            }
            for run in runs
        ],
        "phases": {run.key: run.phase for run in runs},
        "pull_requests": [
            {
                "key": one.key,
                "title": one.pull.title,
                "state": one.pull.state,
                "draft": one.pull.draft,
                "branch": one.pull.branch,
            }
            for one in proposals
        ],
        "commits": desk.repository(story.PROJECT).commits_by("Treehand", [one.pull.head for one in proposals]),
        "worktrees_left": len(list(worktrees.iterdir())) if worktrees.exists() else 0,
    }
