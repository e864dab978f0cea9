"""Disk that one more worktree takes, and how soon a second run begins, beside `git worktree add` and the tool by hand.

The repositories of `readiness` with uv, npm and Bun. Files with several names count once; so do those that the first
worktree has as well. By hand, tools share their downloads as they do without any setting.
"""

import asyncio
import json
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from figures import Figure
from grounds import PROJECT, plain_git
from readiness import Bot, Stack, _bot, _node, _python, _repository, _run, _said

from bot.demo.scripted_model import ScriptedModel
from bot.domain.run import Phase
from bot.services.local.connect import open_local_server

_BLOCK = 512
_MOST_DISK, _MOST_TIME = 1.5, 1.15
_BUN = {"typescript": "^5", "eslint": "^8", "webpack": "^5", "vitest": "^1", "hono": "^4"}


async def measure(folder: Path) -> list[Figure]:
    figures: list[Figure] = []
    for make in (_uv, _npm, _bun):
        stack = await asyncio.to_thread(make, folder)
        here = folder / f"measured-{stack.name}"
        here.mkdir()
        figures += await _measured(stack, here)
    return figures


async def _measured(stack: Stack, here: Path) -> list[Figure]:
    by_hand_mb, by_hand_cold, by_hand_warm = await asyncio.to_thread(_by_hand, stack, here / "by-hand")
    async with ScriptedModel(_said) as model, _bot(stack, here, model, pool=0) as bot:
        first, second = await _first_request(bot), await _first_request(bot)
        before = _files_in(bot.app.settings.state_dir)
        third = await _first_request(bot)
        added = _files_in(bot.app.settings.state_dir)
    ours_mb = sum(size for inode, size in added.items() if inode not in before) / 1e6
    label = f"{stack.name}: label -> first model request"
    return [
        Figure(f"{stack.name}: one more worktree by hand (reference)", by_hand_mb, "MB"),
        Figure(f"{stack.name}: one more worktree", ours_mb, "MB"),
        Figure(f"{stack.name}: one more worktree / by hand", ours_mb / by_hand_mb, "x", _MOST_DISK),
        Figure(f"{stack.name}: by hand, cold (reference)", by_hand_cold, "s"),
        Figure(f"{stack.name}: by hand, with downloads (reference)", by_hand_warm, "s"),
        Figure(f"{label}, first run", first, "s"),
        Figure(f"{label}, later runs", min(second, third), "s"),
        Figure(f"{stack.name}: later runs / by hand", min(second, third) / by_hand_warm, "x", _MOST_TIME),
    ]


def _by_hand(stack: Stack, here: Path) -> tuple[float, float, float]:
    """Returns megabytes of one more worktree, and the seconds of the first and of a later one."""
    told = {name: str(here / kept) for name, kept in stack.caches.items()}
    path = ":".join((*map(str, stack.tools), os.environ["PATH"]))
    seconds, before = [], dict[tuple[int, int], int]()
    for number in range(3):
        before = _files_in(here) if here.exists() else {}
        began = time.perf_counter()
        plain_git(stack.repository, "worktree", "add", "-q", "--detach", str(here / f"worktree-{number}"), "main")
        _run(stack.command, here / f"worktree-{number}", {**os.environ, **told, "PATH": path})
        seconds.append(time.perf_counter() - began)
    added = sum(size for inode, size in _files_in(here).items() if inode not in before)
    return added / 1e6, seconds[0], min(seconds[1:])


async def _first_request(bot: Bot) -> float:
    """As in `readiness`, but the run keeps its worktree."""
    people = open_local_server(bot.app.settings)
    key = people.issues(PROJECT).open("Measured", by="ada", labels=["ai"]).key
    asked, began = len(bot.model.requests), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(bot._ticking(key))
        await bot.model.wait_for_requests(asked + 1)
        seconds = time.perf_counter() - began
        ticking.cancel()
    while (run := bot.app.store.find_run(key)) and run.phase in {Phase.QUEUED, Phase.WORKING}:
        await bot.app.engine.tick()
        await bot.app.engine.wait_until_idle()
    people.close()
    return seconds


def _files_in(folder: Path) -> dict[tuple[int, int], int]:
    """Bytes on disk of each file and folder, by inode."""
    found: dict[tuple[int, int], int] = {}
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            status = Path(place, name).lstat()
            found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return found


def _uv(folder: Path) -> Stack:
    return replace(_python(folder), command="uv sync --frozen")


def _npm(folder: Path) -> Stack:
    return _node(folder)


def _bun(folder: Path) -> Stack:
    kept = Path.home() / ".cache" / "treehand-bench" / "bun"
    program = kept / "node_modules" / ".bin" / "bun"
    if not program.exists():
        kept.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", str(kept), "bun"], check=True, capture_output=True)
    tools = kept / "tools"
    tools.mkdir(exist_ok=True)
    if not (tools / "bun").exists():
        (tools / "bun").write_bytes(program.resolve().read_bytes())
        (tools / "bun").chmod(0o755)
    manifest = {"name": "shop", "version": "0.1.0", "private": True, "dependencies": _BUN}
    files = {"package.json": json.dumps(manifest), ".gitignore": "node_modules/\n"}
    repository = _repository(folder / "bun", files, f"{tools / 'bun'} install --lockfile-only")
    asked = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True, check=True).stdout
    hosts = frozenset({asked.strip().split("/")[2]})
    return Stack("bun", repository, "bun install --frozen-lockfile", (tools,), hosts, {"BUN_INSTALL_CACHE_DIR": "bun"})
