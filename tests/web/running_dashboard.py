"""Runs a dashboard with real settings, databases, local tracker and server, but without the daemon."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bot.control.user_actions import UserActionService
from bot.domain.run import Phase, Run
from bot.domain.turn import Progress
from bot.services.local.connect import open_local_server
from bot.settings.schema import LimitSettings, ProjectSettings, Settings
from bot.status.dashboard_data import DashboardData
from bot.status.run_details import RunDetails
from bot.store.build import open_store
from bot.system.clock import now
from bot.web.app import AppConfig, build_app
from bot.web.auth import Authenticator
from bot.web.dashboard import Dashboard
from bot.web.server import serving
from tests.fakes.runs import a_run, with_fields

NOW = 1_750_000_000.0
PAGE = {"Accept": "text/html,application/xhtml+xml", "Sec-Fetch-Site": "same-origin"}


@dataclass
class RunningDashboard:
    settings: Settings
    client: httpx.AsyncClient
    dashboard: Dashboard
    data: "CountingReader"
    live: dict[str, Progress]
    woken: list[str] = field(default_factory=list)
    notified_projects: list[list[str]] = field(default_factory=list)
    """Projects of each comment and issue."""

    def issue(self, title: str, *labels: str, project: str = "shop") -> str:
        server = open_local_server(self.settings)
        key = server.issues(project).open(title, by="Mira", labels=labels).key
        server.close()
        return key

    def run(self, title: str, phase: Phase = Phase.WORKING, *, project: str = "shop", **more) -> Run:
        """Opens an issue and saves a run of it."""
        key = self.issue(title, "ai", project=project)
        run = a_run(key, project, phase=phase, begun_at=NOW, changed_at=now() - 5, **more)
        return self.save(run)

    def save(self, run: Run, **changes) -> Run:
        run = with_fields(run, **changes)
        store = open_store(self.settings)
        store.save(run, at=NOW, notes=["something happened"])
        store.close()
        self.dashboard.hub.notify()
        return run

    def comments(self, key: str) -> list[tuple[str, str]]:
        server = open_local_server(self.settings)
        project, number = server.parse_key(key)
        comments = [(one.author, one.text) for one in server.issues(project).show(number).comments]
        server.close()
        return comments

    def issue_thread(self, key: str):
        server = open_local_server(self.settings)
        project, number = server.parse_key(key)
        thread = server.issues(project).show(number)
        server.close()
        return thread

    async def page(self, path: str, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.get(path, headers={**PAGE, **named})

    async def post(self, path: str, **fields: str) -> httpx.Response:
        origin = str(self.client.base_url).rstrip("/")
        return await self.client.post(path, data=fields, headers={**PAGE, "Origin": origin})


class CountingReader(DashboardData):
    """Counts its snapshots."""

    snapshots = 0

    def snapshot(self):
        type(self).snapshots += 1
        return super().snapshot()


def made_repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    author = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    for words in (["init", "--quiet", "--initial-branch=main"], [*author, "commit", "-q", "--allow-empty", "-m", "1"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def commit(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    author = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    for words in (["add", "."], [*author, "commit", "-q", "-m", name]):
        subprocess.run(["git", *words], cwd=folder, check=True)


@asynccontextmanager
async def open_dashboard(
    folder: Path, *projects: str, access: Authenticator | None = None, hosts: tuple[str, ...] = (), **more
) -> AsyncIterator[RunningDashboard]:
    repository = made_repository(folder / "repository")
    settings = Settings(
        state_dir=folder / "state",
        projects=tuple(ProjectSettings(name=name, repository=str(repository)) for name in projects or ("shop",)),
        **{"limits": LimitSettings(free_disk_gb=0), **more},
    )
    live: dict[str, Progress] = {}
    woken: list[str] = []
    notified: list[list[str]] = []
    data = CountingReader(settings, lambda: dict(live))
    dashboard = Dashboard(
        data,
        UserActionService(settings, lambda names: notified.append(list(names))),
        RunDetails(settings, data.find_run),
    )
    config = AppConfig(wake=woken.append, authenticator=access or Authenticator(operator="ana"), hosts=hosts)
    async with (
        serving(build_app(config, dashboard), "127.0.0.1:0") as port,
        dashboard.open(),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        yield RunningDashboard(settings, client, dashboard, data, live, woken, notified)
