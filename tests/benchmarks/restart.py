"""Time from the start of a daemon with a thousand open runs, each with its worktree, to its first decision.

Runs the installed program against a stand-in for GitHub that counts requests. While the daemon was down, somebody
labelled one more issue; starting its run is the first decision.
"""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from figures import Figure
from grounds import plain_git

from bot.domain.branch_name import branch_for
from bot.domain.run import Phase, Run, RunSpend, RunTurns
from bot.domain.spend import Spend
from bot.engine.build import policy_for
from bot.engine.loop import Engine
from bot.engine.schedule import Capacity
from bot.ports import Ports, Project
from bot.secret_scan.build import load_secrets
from bot.services.github.auth import TokenCredential
from bot.services.github.cache import open_cache
from bot.services.github.client import GitHubClient
from bot.services.github.forge import GitHubForge
from bot.services.github.repository import GitHubRepository, RepositoryRules
from bot.services.github.tracker import GitHubTracker
from bot.settings.credentials import marker_secrets
from bot.settings.load import load
from bot.settings.schema import Settings
from bot.store.build import open_store
from bot.workspace.build import build_workspaces
from bot.workspace.paths import BASES, PUSHED, ProjectPaths
from tests.fakes.github import GitHubWorld, ServedGitHub, served
from tests.fakes.ports import FakeExecutor, FakeWorkspaces
from tests.fakes.world import World

RUNS = 1000
NAME, BOT, PROJECT = "acme/shop", "treehand-bot", "shop"
SECONDS = 120
_HOURS = 12
"""So long ago the life before began."""


@dataclass(frozen=True, slots=True)
class Start:
    seconds: float
    requests: int
    memory: float


async def measure(folder: Path) -> list[Figure]:
    world = GitHubWorld(folder / "github", skew=-_HOURS * 3600)
    with served(world, validate=False) as github:
        settings = _settings(folder, github)
        runs = _populate(world)
        await _show(settings, github, runs)
        await _plant(settings, github, runs)
        world.advance(-world.skew)
        found = await asyncio.to_thread(_start, folder, github)
    return [
        Figure(f"restart, {RUNS} open runs: first decision", found.seconds, "s", 5),
        Figure(f"restart, {RUNS} open runs: requests until the first decision", found.requests, "", 100),
        Figure(f"restart, {RUNS} open runs: memory at the first decision", found.memory, "MB"),
    ]


def _settings(folder: Path, github: ServedGitHub) -> Settings:
    (folder / "token").write_text(github.token_for(BOT))
    (folder / "treehand.toml").write_text(
        f'state_dir = "state"\n[github]\napi_url = "{github.url}"\ntoken_file = "token"\n[limits]\nfree_disk_gb = 0\n'
        f'[web]\nbind = ""\n[[projects]]\nname = "{PROJECT}"\ntracker = "github"\nrepository = "{NAME}"\n'
    )
    return load(folder / "treehand.toml")


def _populate(world: GitHubWorld) -> list[Run]:
    """Makes runs in review, each with a pull request that has a comment."""
    world.add_repository(NAME, ana="write", **{BOT: "write"})
    tip = world.push(NAME, "answer", {"app.py": "answer = 42\n"}, by=BOT)
    issues = [world.open_issue(NAME, f"Fix {number}", "Please.", by="ana") for number in range(1, RUNS + 1)]
    runs = []
    for issue in issues:
        world.label(NAME, issue.number, "ai", by="ana")
        world.label(NAME, issue.number, "ai:review", by=BOT)
        runs.append(
            Run(f"{NAME}#{issue.number}", PROJECT, phase=Phase.REVIEW, begun_at=world.now,
                turns=RunTurns(number=1, ended=1), session=f"session-{issue.number}",
                spend=RunSpend(usd=0.3, tokens=9000))
        )  # fmt: skip
    home = world.repository(NAME)
    plain_git(
        home.path, "update-ref", "--stdin", stdin=_created([f"refs/heads/{branch_for(run)}" for run in runs], tip)
    )
    for run in runs:
        world.open_pull(NAME, f"Fix {run.key}", f"Closes {run.key}", head=branch_for(run), by=BOT, draft=True)
    world.advance(600)  # what happened lately is looked at again on purpose
    return runs


def _created(names: Sequence[str], commit: str) -> bytes:
    return "".join(f"create {name} {commit}\n" for name in names).encode()


async def _show(settings: Settings, github: ServedGitHub, runs: Sequence[Run]) -> None:
    """Plays the process before, quickly: waiting moves the clock; it ends when every run is shown on its issue."""
    world, imaginary = github.world, World()
    settings.state_dir.mkdir()
    memory, store = open_cache(settings.state_dir / "github.db"), open_store(settings)
    for run in runs:
        spend = Spend(1, world.now, run.spend.usd, run.spend.tokens)
        store.save(run, at=world.now, notes=["queued → working", "working → review"], spend=spend)

    async def sleep(seconds: float) -> None:
        world.advance(seconds)

    credential, secret = TokenCredential(github.token_for(BOT)), marker_secrets(settings)[0]
    async with GitHubClient(github.url, credential, memory, clock=lambda: world.now, sleep=sleep) as service:
        repository = GitHubRepository(service, NAME, memory, rules=RepositoryRules(settings.label), secret=secret)
        tracker, forge = GitHubTracker(repository), GitHubForge(repository, api_url=github.url)
        policy = policy_for(settings.projects[0], settings)
        project = Project(PROJECT, tracker, forge, FakeWorkspaces(imaginary), policy, hand_over=imaginary.by_hand)
        outside = Ports({PROJECT: project}, FakeExecutor(imaginary), store)
        async with Engine(outside, clock=lambda: world.now, capacity=lambda: Capacity(policy.max_working)) as engine:
            while any(not run.status.digest for run in store.active()):
                engine.expect_news()
                await engine.tick()
                await engine.wait_until_idle()
                world.advance(3700)  # by then GitHub allows more comments
    memory.close()
    store.close()


async def _plant(settings: Settings, github: ServedGitHub, runs: Sequence[Run]) -> None:
    """Makes one worktree as usual, and a copy for every other run."""
    first, *others = runs
    workspaces = build_workspaces(settings, settings.projects[0], load_secrets(settings))
    memory = open_cache(settings.state_dir / "planting.db")
    async with GitHubClient(github.url, TokenCredential(github.token_for(BOT)), memory) as service:
        repository = GitHubRepository(
            service, NAME, memory, rules=RepositoryRules(settings.label), secret=b"reads only"
        )
        remote = await GitHubForge(repository, api_url=github.url).remote()
        made = await workspaces.ensure(branch_for(first), base="main", remote=remote)
    memory.close()
    places = ProjectPaths(settings.state_dir, PROJECT)
    template = places.for_branch(branch_for(first))
    for run in others:
        place = places.for_branch(branch_for(run))
        for source, target in (
            (template.folder, place.folder),
            (template.admin, place.admin),
            (template.shadow, place.shadow),
            (template.agent_git, place.agent_git),
        ):
            shutil.copytree(source, target, symlinks=True)
            _rename_in(target, template.folder.name, place.folder.name)
    names = [f"{where}{branch_for(run)}" for run in others for where in ("refs/heads/", BASES, PUSHED)]
    plain_git(places.mirror, "update-ref", "--stdin", stdin=_created(names, made.head))


def _rename_in(folder: Path, before: str, after: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and (text := path.read_bytes()).isascii():
            path.write_bytes(text.replace(before.encode(), after.encode()))


def _start(folder: Path, github: ServedGitHub) -> Start:
    issue = github.world.open_issue(NAME, "One more", "Please.", by="ana")
    github.world.label(NAME, issue.number, "ai", by="ana")
    github.history.clear()
    began = time.perf_counter()
    with _daemon(folder) as daemon, closing(sqlite3.connect(folder / "state/treehand.db")) as db:
        while not db.execute("SELECT 1 FROM runs WHERE key = ?", (f"{NAME}#{issue.number}",)).fetchone():
            assert daemon.poll() is None, (folder / "daemon.log").read_text()
            assert time.perf_counter() - began < SECONDS, "nothing was decided"
            time.sleep(0.02)
        seconds, requests = time.perf_counter() - began, len(github.history)
        return Start(seconds, requests, psutil.Process(daemon.pid).memory_info().rss / 1e6)


@contextmanager
def _daemon(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with (folder / "daemon.log").open("w") as log:
        daemon = subprocess.Popen(
            [str(Path(sys.executable).with_name("treehand")), "run"],
            cwd=folder,
            env={**os.environ, "ANTHROPIC_API_KEY": "stand-in", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
            stderr=log,
        )
    try:
        yield daemon
    finally:
        daemon.kill()
        daemon.wait()
