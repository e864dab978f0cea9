"""The idle daemon: 1,000 finished runs and 100 in review, each with its pull request."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
from figures import Figure
from grounds import PROJECT, bot, make_repository, plain_git, settings_for

from bot.domain.branch_name import branch_for
from bot.domain.run import Phase, Run, RunSpend, RunTurns
from bot.domain.spend import Spend
from bot.store.runs import RunStore

FINISHED, OPEN = 1000, 100
PER_DAY, SECONDS_PER_DAY = 20, 86400.0
SECONDS = 30
_BODY = "What I did, and how I checked it: a few sentences for the reviewer.\n" * 20


async def measure(folder: Path) -> list[Figure]:
    commit = make_repository(folder / "repository", 10)
    settings = settings_for(folder)
    await _fill(folder, commit)
    (folder / "treehand.toml").write_text(
        f'state_dir = "{settings.state_dir}"\n[[projects]]\nname = "{PROJECT}"\nrepository = "{folder}/repository"\n'
        'base = "main"\n'
    )
    looked = await asyncio.to_thread(_looked, folder)
    daemon = subprocess.Popen(  # noqa: ASYNC220
        [str(Path(sys.executable).with_name("treehand")), "run"],
        cwd=folder,
        env={**os.environ, "ANTHROPIC_API_KEY": "stand-in"},
        stderr=subprocess.DEVNULL,
    )
    try:
        await _settled(folder)
        process = psutil.Process(daemon.pid)
        before, began = _cpu(process), time.perf_counter()
        await asyncio.sleep(SECONDS)
        share = (_cpu(process) - before) / (time.perf_counter() - began) * 100
        memory = process.memory_info().rss / 1e6
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(30)
    return [
        Figure(f"idle, {FINISHED} finished runs and {OPEN} in review: memory", memory, "MB", 150),
        Figure(f"idle, {FINISHED} finished runs and {OPEN} in review: CPU", share, "%", 1.0),
        Figure(f"treehand status, {FINISHED} finished runs and {OPEN} in review", looked, "s", 0.5),
    ]


def _looked(folder: Path) -> float:
    command = [str(Path(sys.executable).with_name("treehand")), "status"]
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        taken.append(time.perf_counter() - began)
    return sorted(taken)[len(taken) // 2]


async def _settled(folder: Path) -> None:
    """Waits for the first ticks, which show every run on its issue once, until the journal stays the same."""
    quiet, last = 0, -1
    log = folder / "state" / "forge" / "desk.sqlite-wal"
    while quiet < 20:
        size = log.stat().st_mtime_ns if log.exists() else 0
        quiet, last = (quiet + 1 if size == last else 0), size
        await asyncio.sleep(0.25)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system + times.children_user + times.children_system


class _Nobody:
    async def sweep(self) -> int:
        return 0


async def _fill(folder: Path, commit: str) -> None:
    now = time.time()
    async with bot(settings_for(folder), _Nobody()) as grounds:
        desk, store = grounds.people, grounds.app.store
        bare = (await grounds.app.ports.projects[PROJECT].forge.remote()).url
        issues, pulls = desk.issues(PROJECT), desk.pull_requests(PROJECT)
        branches = []
        for number in range(FINISHED + OPEN):
            over = number < FINISHED
            issue = issues.open(f"Issue {number}", by="ada", body=_BODY, labels=[] if over else ["ai", "ai:review"])
            then = now - (FINISHED - number) * SECONDS_PER_DAY / PER_DAY if over else now
            run = Run(
                issue.key, PROJECT, phase=Phase.DONE if over else Phase.REVIEW, begun_at=then, changed_at=then,
                turns=RunTurns(number=1, ended=1, started_at=then),
                session=f"session-{number}", spend=RunSpend(usd=0.3, tokens=9000),
            )  # fmt: skip
            pulls.ensure_draft(branch_for(run), base="main", title=issue.title, body=_BODY, head=commit)
            pulls.ensure_comment(branch_for(run), slug="1/reply-1", text=_BODY)
            branches += [] if over else [branch_for(run)]
            _save(store, run, then)
    plain_git(Path(bare), "update-ref", "--stdin", stdin=_updates(branches, commit))
    assert len(branches) == OPEN


def _save(store: RunStore, run: Run, now: float) -> None:
    notes = ["ada asked for it", "queued → working", "turn 1 began", "turn 1 cost $0.30", "working → review"]
    store.save(run, at=now, notes=notes, spend=Spend(1, now, 0.3, 9000))


def _updates(branches: list[str], commit: str) -> bytes:
    return "".join(f"create refs/heads/{branch} {commit}\n" for branch in branches).encode()
