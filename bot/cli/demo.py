"""`treehand demo`: plays a complete example on this machine, with scripted people and a scripted model."""

import asyncio
import json
import sys
import time
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from bot.app import open_app
from bot.cli.demo_screen import DemoScreen
from bot.daemon import Daemon
from bot.demo.agent_script import BODIES, agent_script
from bot.demo.people import PROJECT, DemoPeople, create_repository
from bot.demo.scripted_model import ScriptedModel
from bot.domain.turn import TurnState
from bot.sandbox.build import run_selftest
from bot.services.local.connect import open_local_server
from bot.services.local.server import LocalServer
from bot.settings.find_file import settings_file
from bot.settings.load import load
from bot.settings.schema import (
    BudgetSettings,
    LimitSettings,
    NotifySettings,
    PollSettings,
    ProjectSettings,
    SandboxSettings,
    Settings,
    WebSettings,
)
from bot.settings.state_place import DEMO_FOLDER
from bot.system import logs
from bot.system.locks import daemon_lock
from bot.text.invisible_characters import on_one_line
from bot.web.server import find_free_port

_INTRODUCTION = "The model is scripted; everything else is real: git, worktrees, the agent's own program, SQLite."
_PACE_ON_TERMINAL, _PACE = 0.8, 0.1
_DEFAULT_PORT = 8700
_FINISHED_FILE = "told"
"""Empty file in the state directory of a demo that has finished."""


def demo(options: Namespace) -> None:
    folder = load(settings_file(options.config), required=False).state_dir / DEMO_FOLDER
    on_terminal = sys.stdout.isatty() and not options.json
    stays = on_terminal and not options.once
    with daemon_lock(folder):
        settings = _settings(folder, _dashboard_address(options.port, is_wanted=stays))
        resumed = _clear_if_finished(settings)
        settings, sandbox_problem = _try_sandbox(settings)
        logs.configure_logging(file=folder / "treehand.log", quiet=True)
        demo = _Demo(on_terminal=on_terminal, quiet=options.json, stays=stays, resumed=resumed)
        if not options.json:
            _print_introduction(settings, resumed=resumed, sandbox_problem=sandbox_problem)
        asyncio.run(_play(settings, demo))
        if options.json:
            print(json.dumps(demo.outcome))
        else:
            demo.screen.close(demo.outcome)
            print(_next_steps(settings))


def _try_sandbox(settings: Settings) -> tuple[Settings, str]:
    """Returns settings without a sandbox, and the reason, if it does not work: the demo runs only code of ours."""
    result = asyncio.run(run_selftest(settings))
    if result is None or result.holds:
        return settings, ""
    return settings.model_copy(update={"sandbox": SandboxSettings(kind="none")}), on_one_line(str(result))


def _dashboard_address(port: int | None, *, is_wanted: bool) -> str:
    """Returns an empty string without a dashboard."""
    if port is None and not is_wanted:
        return ""
    return f"127.0.0.1:{port or find_free_port('127.0.0.1', _DEFAULT_PORT)}"


def _print_introduction(settings: Settings, *, resumed: bool, sandbox_problem: str) -> None:
    print(f"Treehand demo, in {_from_home(settings.state_dir.parent)}\n{_INTRODUCTION}")
    if settings.web.bind:
        print(f"Dashboard: http://{settings.web.bind}", flush=True)
    if sandbox_problem:
        print(f"The demo runs without the sandbox, which `treehand run` requires: {sandbox_problem}")
    if resumed:
        print("Resuming an earlier demo that was interrupted.")


def _next_steps(settings: Settings) -> str:
    git_dir = _from_home(settings.state_dir / "forge" / f"{PROJECT}.git")
    return (
        f"See the commits of the demo:  git -C {git_dir} log --graph --oneline --all\n"
        "Start in your own repository:  treehand init"
    )


def _from_home(path: Path) -> str:
    """Returns the path as shells understand it."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def _settings(folder: Path, bind: str) -> Settings:
    project = ProjectSettings(name=PROJECT, repository=str(folder / PROJECT), base="main")
    return Settings.model_construct(
        state_dir=folder / "state",
        label="ai",
        poll=PollSettings(interval=5),
        limits=LimitSettings(working=3, working_per_project=3, turn_minutes=10, free_disk_gb=0.5),
        budget=BudgetSettings(per_issue_usd=0, per_day_usd=0),
        web=WebSettings(bind=bind, login="never"),  # the demo contains no data that needs a login
        notify=NotifySettings(on=()),
        projects=(project,),
    )


def _clear_if_finished(settings: Settings) -> bool:
    """Starts over after a finished demo; returns True if an interrupted one is to be resumed."""
    import shutil

    if settings.state_dir.exists() and not (settings.state_dir / _FINISHED_FILE).exists():
        return True
    shutil.rmtree(settings.state_dir, ignore_errors=True)
    shutil.rmtree(settings.projects[0].repository, ignore_errors=True)
    return False


@dataclass(slots=True)
class _Demo:
    on_terminal: bool
    quiet: bool
    stays: bool
    """Runs until Ctrl-C, also after the story has ended."""
    resumed: bool
    """An earlier demo was interrupted and is continued."""
    most_agents_at_once: int = 0
    started_at: float = field(default_factory=time.monotonic)
    outcome: dict[str, object] = field(default_factory=dict)
    screen: DemoScreen = field(init=False)

    def __post_init__(self) -> None:
        self.screen = DemoScreen(on_terminal=self.on_terminal, quiet=self.quiet)

    @property
    def pace(self) -> float:
        return _PACE_ON_TERMINAL if self.on_terminal else _PACE


async def _play(settings: Settings, demo: _Demo) -> None:
    create_repository(Path(settings.projects[0].repository))
    server = open_local_server(settings)
    async with ScriptedModel(agent_script(demo.pace)) as model:
        environment = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "stand-in"}
        async with open_app(settings, environment) as app:
            daemon = Daemon(app)
            people = DemoPeople(app, server, lambda sentence: _log(demo, people, sentence))
            with demo.screen.live() if demo.on_terminal else nullcontext():
                async with asyncio.TaskGroup() as group:
                    others = [
                        group.create_task(_watch(demo, people)),
                        group.create_task(_play_people(demo, people, daemon)),
                    ]
                    await daemon.run()
                    for task in others:
                        task.cancel()
            demo.outcome = {
                **_outcome(people, server, settings, demo.started_at),
                "most_agents_at_once": demo.most_agents_at_once,
                "resumed": demo.resumed,
                "sandbox": settings.sandbox.kind,
            }
    server.close()


async def _play_people(demo: _Demo, people: DemoPeople, daemon: Daemon) -> None:
    await people.act()
    (people.app.settings.state_dir / _FINISHED_FILE).touch()
    _log(demo, people, "The demo has finished.")
    if demo.stays:
        demo.screen.log(invitation(people.app.settings.web.bind))
    else:
        daemon.stop()


def invitation(address: str) -> str:
    return f"Try it yourself at http://{address} (Ctrl-C ends the demo)."


async def _watch(demo: _Demo, people: DemoPeople) -> None:
    while True:
        runs = {title: (people.key(title), people.run(title)) for title in BODIES}
        reports = await people.app.executor.reports()
        running = sum(report.state is TurnState.RUNNING for report in reports.values())
        demo.most_agents_at_once = max(demo.most_agents_at_once, running)
        _log_journals(demo, people)
        demo.screen.draw(runs, reports)
        await asyncio.sleep(0.25)


def _log(demo: _Demo, people: DemoPeople, sentence: str) -> None:
    """Logs what people do after the journal entries that they react to."""
    _log_journals(demo, people)
    demo.screen.log(sentence)


def _log_journals(demo: _Demo, people: DemoPeople) -> None:
    for run in filter(None, map(people.run, BODIES)):
        demo.screen.log_journal(run, people.app.store.journal(run))


def _outcome(people: DemoPeople, server: LocalServer, settings: Settings, started_at: float) -> dict[str, object]:
    runs = [run for run in map(people.run, BODIES) if run]
    pages = server.pull_requests(PROJECT).list_pull_requests(closed=True)
    worktrees = settings.state_dir / "worktrees" / PROJECT
    return {
        "model": "scripted stand-in",
        "seconds": round(time.monotonic() - started_at, 1),
        "runs": [
            {
                "key": run.key,
                "title": next(title for title in BODIES if people.key(title) == run.key),
                "phase": run.phase,
                "reason": run.reason,
                "turns": run.turns.number,
                "cost_usd": round(run.spend.usd, 4),
                "tokens": run.spend.tokens,
                "comments_heard": len(run.comments),
            }
            for run in runs
        ],
        "phases": {run.key: run.phase for run in runs},
        "pull_requests": [
            {
                "key": page.key,
                "title": page.pull.title,
                "state": page.pull.state,
                "draft": page.pull.draft,
                "branch": page.pull.branch,
            }
            for page in pages
        ],
        "commits": server.repository(PROJECT).count_commits("Treehand", [page.pull.head for page in pages]),
        "worktrees_left": len(list(worktrees.iterdir())) if worktrees.exists() else 0,
    }
