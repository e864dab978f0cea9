"""Parts of all benchmarks: a repository of any size, and a whole bot with an agent of our choice."""

import contextlib
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from bot import app
from bot.app import App
from bot.engine.loop import Engine
from bot.engine.run_turn import TurnRunner
from bot.executors.local import LocalExecutor, RunTurn
from bot.ports import Agent, Ports
from bot.services.local.connect import open_local_server
from bot.services.local.server import LocalServer
from bot.settings.schema import BudgetSettings, LimitSettings, ProjectSettings, Settings
from bot.system import clock

PROJECT = "shop"
_QUIET = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/local/bin:/usr/bin:/bin"}


def plain_git(folder: Path, *args: str, stdin: bytes = b"") -> str:
    """Runs git like a user, without anybody's settings."""
    done = subprocess.run(["git", *args], cwd=folder, env=_QUIET, input=stdin, check=True, capture_output=True)
    return done.stdout.decode().strip()


def make_repository(folder: Path, files: int) -> str:
    """Makes a repository with this number of files in one commit on `main`, without a checkout. Returns the commit."""
    folder.mkdir(parents=True)
    plain_git(folder, "init", "-q", "-b", "main")
    body = "".join(f"line {number} of a file like many others\n" for number in range(30))
    parts = ["commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 5\nfirst\n"]
    for number in range(files):
        text = f"# file {number}\n{body}"
        path = f"src/part{number // 100:03}/module{number % 100:02}.py"
        parts.append(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n")
    plain_git(folder, "fast-import", "--quiet", stdin="".join(parts).encode())
    return plain_git(folder, "rev-parse", "main")


def settings_for(folder: Path, **limits: float) -> Settings:
    project = ProjectSettings(name=PROJECT, repository=str(folder / "repository"), base="main")
    return Settings.model_construct(
        state_dir=folder / "state",
        limits=LimitSettings(free_disk_gb=0, **limits),
        budget=BudgetSettings(per_issue_usd=0, per_day_usd=0),
        projects=(project,),
    )


@dataclass(frozen=True, slots=True)
class Grounds:
    app: App
    people: LocalServer
    """What people use: a connection of their own, as another process would have."""

    def ask(self, title: str) -> str:
        return self.people.issues(PROJECT).open(title, by="ada", labels=["ai"]).key


@contextlib.asynccontextmanager
async def bot(settings: Settings, agent: Agent, take_turn: RunTurn | None = None) -> AsyncIterator[Grounds]:
    """Builds the same parts as `app.open_app`, except the agent or the whole turn."""
    async with app.open_app(settings, {}) as wired:
        taker = take_turn or TurnRunner(wired.ports.projects.__getitem__, agent, settings.state_dir / "homes")
        people = open_local_server(settings)
        async with LocalExecutor(
            taker,
            turn_store=wired.store,
            on_change=wired.woken.set,
            transcript=wired.transcripts.append,
            clock=clock.now,
        ) as executor:
            outside = Ports(wired.ports.projects, executor, wired.store)
            capacity = wired.engine._capacity
            async with Engine(outside, clock=clock.now, capacity=capacity, on_change=wired.woken.set) as engine:
                changed = replace(wired, ports=outside, agent=agent, executor=executor, engine=engine)
                yield Grounds(changed, people)
        people.close()
