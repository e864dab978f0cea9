"""The diff page of a run that changed 100,000 lines: size of the page, and how long it blocks the loop."""

import asyncio
import re
import time
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from figures import Figure
from grounds import PROJECT, make_repository, settings_for

from bot.control.user_actions import UserActionService
from bot.domain.branch_name import branch_for
from bot.domain.remote import Remote
from bot.domain.run import Phase, Run, RunTurns
from bot.services.local.connect import open_local_server
from bot.settings.schema import Settings
from bot.status.dashboard_data import DashboardData
from bot.status.run_details import RunDetails
from bot.store.build import open_store
from bot.system.clock import now
from bot.web.app import AppConfig, build_app
from bot.web.auth import Authenticator
from bot.web.dashboard import Dashboard
from bot.web.server import serving
from bot.workspace.workspaces import GitWorkspaces

LINES, FILES = 100_000, 1000
_LINE = "def function_{0}(argument): return argument + {0}  # one of many\n"


async def measure(folder: Path) -> list[Figure]:
    found = []
    for name, files in (("in one file", 1), (f"in {FILES:,} files", FILES)):
        found += await _looked_at(folder / f"{files}", name, files)
    return found


async def _looked_at(folder: Path, name: str, files: int) -> list[Figure]:
    make_repository(folder / "repository", 100)
    settings = settings_for(folder)
    await _changed(settings, folder, files)
    async with _served(settings) as client, _watched() as stood_still:
        began = time.perf_counter()
        page = await client.get("/runs/shop%231")
        taken = time.perf_counter() - began
        page.raise_for_status()
        path = re.search(r'data-load="([^"]+)"', page.text)
        assert path
        part = await client.get(f"{path[1]}?part=1")
        part.raise_for_status()
        await client.get(f"{path[1]}?part=1&view=split")
    return [
        Figure(f"{LINES:,} changed lines {name}: first page", len(page.content) / 1e3, "kB", 300),
        Figure(f"{LINES:,} changed lines {name}: time to the first page", taken, "s"),
        Figure(f"{LINES:,} changed lines {name}: an opened file", len(part.content) / 1e3, "kB", 300),
        Figure(f"{LINES:,} changed lines {name}: longest block of the loop", max(stood_still) * 1e3, "ms", 100),
    ]


async def _changed(settings: Settings, folder: Path, files: int) -> None:
    """Writes the changes without a commit, like an agent."""
    desk = open_local_server(settings)
    key = desk.issues(PROJECT).open("Many lines", by="ada", labels=["ai"]).key
    desk.close()
    run = Run(key, PROJECT, phase=Phase.WORKING, turns=RunTurns(number=1), begun_at=now(), changed_at=now())
    store = open_store(settings)
    store.save(run, at=now())
    store.close()
    workspaces = GitWorkspaces(settings.state_dir, PROJECT)
    made = await workspaces.ensure(branch_for(run), base="main", remote=Remote(str(folder / "repository")))
    for number in range(files):
        text = "".join(_LINE.format(line) for line in range(LINES // files))
        (made.path / f"made{number:04}.py").write_text(text)


@asynccontextmanager
async def _served(settings: Settings):
    data = DashboardData(settings, dict)
    dashboard = Dashboard(data, UserActionService(settings, lambda _: None), RunDetails(settings, data.find_run))
    pages = build_app(AppConfig(wake=lambda _: None, authenticator=Authenticator(operator="ada")), dashboard)
    async with (
        serving(pages, "127.0.0.1:0") as port,
        dashboard.open(),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as client,
    ):
        await client.get("/static/none")  # what is imported at the first request is not the page's
        yield client


@asynccontextmanager
async def _watched():
    """Returns for how long the loop was blocked, each time."""
    gaps = [0.0]

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            gaps.append(time.perf_counter() - began - 0.001)

    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watch())
        yield gaps
        watching.cancel()
