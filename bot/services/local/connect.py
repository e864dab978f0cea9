"""The local service: opens the issues and pull requests that are kept in the state directory."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.services.interface import OfflineReader, Service, ServiceConnection
from bot.services.local.server import LocalServer, LocalSite
from bot.settings.schema import ProjectSettings, Settings
from bot.system import clock

if TYPE_CHECKING:
    from bot.domain.pull_request import PullRequest
    from bot.secret_scan.scanner import Secrets
    from bot.services.local.forge import LocalForge
    from bot.services.local.tracker import LocalPersonTracker, LocalTracker


def open_local_server(settings: Settings, default_project: Callable[[], str] = str) -> LocalServer:
    """`default_project`: returns the project that a person means who names none, or an empty string."""
    local = (project for project in settings.projects if LocalService.name in {project.tracker, project.forge})
    sites = {project.name: LocalSite(project.folder, project.base) for project in local}
    return LocalServer(settings.state_dir, sites, clock.now, default_project)


@dataclass(frozen=True, slots=True)
class LocalConnection(ServiceConnection):
    server: LocalServer
    label: str

    def tracker(self, project: ProjectSettings) -> "LocalTracker":
        from bot.services.local.tracker import LocalTracker

        return LocalTracker(self.server, project.name, label=self.label)

    def forge(self, project: ProjectSettings) -> "LocalForge":
        from bot.services.local.forge import LocalForge

        return LocalForge(self.server, project.name)


@dataclass(frozen=True, slots=True)
class LocalOfflineReader(OfflineReader):
    server: LocalServer

    def titles(self, project: str) -> Mapping[str, str]:
        return self.server.issues(project).titles()

    def pull_requests(self, project: str, branches: Collection[str]) -> Mapping[str, "PullRequest"]:
        pulls, _ = self.server.pull_requests(project).snapshot(branches, self.server.repository(project).our_tips())
        return pulls

    def close(self) -> None:
        self.server.close()


class LocalService(Service):
    name = "local"
    title = "Treehand"
    site = "here"
    kept_here = True

    @asynccontextmanager
    async def open(
        self,
        settings: Settings,
        *,
        secrets: "Secrets | None" = None,  # noqa: ARG002
        opened: Mapping[str, ServiceConnection],  # noqa: ARG002
    ) -> AsyncIterator[LocalConnection]:
        server = open_local_server(settings)
        try:
            yield LocalConnection(server, settings.label)
        finally:
            server.close()

    @asynccontextmanager
    async def open_for_person(
        self, settings: Settings, project: ProjectSettings
    ) -> AsyncIterator["LocalPersonTracker"]:
        from bot.services.local.tracker import LocalPersonTracker

        yield LocalPersonTracker(partial(open_local_server, settings), project.name)

    def open_offline(self, settings: Settings) -> LocalOfflineReader:
        return LocalOfflineReader(open_local_server(settings))

    def place_of(self, project: ProjectSettings) -> str:  # noqa: ARG002
        return "here"

    def describe_repository(self, settings: Settings, project: ProjectSettings) -> str:
        server = open_local_server(settings)
        try:
            repository = server.repository(project.name)
            base = repository.base()
            repository.ensure_readable()
        finally:
            server.close()
        return f"{project.repository}, base {base}"
