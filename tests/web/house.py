"""A dashboard, and everything real behind it but the daemon: settings, databases, an embedded tracker, the server."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from bot.app import desk_of, store_of
from bot.control.user_actions import Speaking
from bot.domain.run import Phase, Run
from bot.domain.turn import Progress
from bot.settings import Limits, ProjectSettings, Settings
from bot.status.dashboard_data import Showing
from bot.status.run_details import CloseUp
from bot.system.clock import now
from bot.web import Access, Dashboard, Door, pages_of, serving

NOW = 1_750_000_000.0
PAGE = {"Accept": "text/html,application/xhtml+xml", "Sec-Fetch-Site": "same-origin"}


@dataclass
class House:
    settings: Settings
    client: httpx.AsyncClient
    dashboard: Dashboard
    window: "Window"
    live: dict[str, Progress]
    woken: list[str] = field(default_factory=list)
    told: list[list[str]] = field(default_factory=list)
    """The projects that somebody said something about."""

    def issue(self, title: str, *labels: str, project: str = "shop") -> str:
        desk = desk_of(self.settings)
        key = desk.issues(project).open(title, by="Mira", labels=labels).key
        desk.close()
        return key

    def run(self, title: str, phase: Phase = Phase.WORKING, *, project: str = "shop", **more) -> Run:
        """An issue, and a run of it."""
        key = self.issue(title, "ai", project=project)
        run = Run(key, project, phase=phase, begun_at=NOW, changed_at=now() - 5, **more)
        return self.save(run)

    def save(self, run: Run, **changes) -> Run:
        run = replace(run, **changes)
        store = store_of(self.settings)
        store.save(run, at=NOW, notes=["something happened"])
        store.close()
        self.dashboard.hub.stir()
        return run

    def said(self, key: str) -> list[tuple[str, str]]:
        desk = desk_of(self.settings)
        project, number = desk.parse_key(key)
        found = [(one.author, one.text) for one in desk.issues(project).show(number).said]
        desk.close()
        return found

    def thread(self, key: str):
        desk = desk_of(self.settings)
        project, number = desk.parse_key(key)
        found = desk.issues(project).show(number)
        desk.close()
        return found

    async def page(self, path: str, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.get(path, headers={**PAGE, **named})

    async def post(self, path: str, **fields: str) -> httpx.Response:
        origin = str(self.client.base_url).rstrip("/")
        return await self.client.post(path, data=fields, headers={**PAGE, "Origin": origin})


class Window(Showing):
    """Counts how often somebody looks out of it."""

    pictures = 0

    def picture(self):
        type(self).pictures += 1
        return super().picture()


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
async def open_house(
    folder: Path, *projects: str, access: Access | None = None, hosts: tuple[str, ...] = (), **more
) -> AsyncIterator[House]:
    repository = made_repository(folder / "repository")
    settings = Settings(
        state_dir=folder / "state",
        projects=tuple(ProjectSettings(name=name, repository=str(repository)) for name in projects or ("shop",)),
        **{"limits": Limits(free_disk_gb=0), **more},
    )
    live: dict[str, Progress] = {}
    woken: list[str] = []
    told: list[list[str]] = []
    window = Window(settings, lambda: dict(live))
    dashboard = Dashboard(
        window, Speaking(settings, lambda names: told.append(list(names))), CloseUp(settings, window.find_run)
    )
    doors = Door(wake=woken.append, ready=lambda: True, access=access or Access(operator="ana"), hosts=hosts)
    async with (
        serving(pages_of(doors, dashboard), "127.0.0.1:0") as port,
        dashboard.open(),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        yield House(settings, client, dashboard, window, live, woken, told)
