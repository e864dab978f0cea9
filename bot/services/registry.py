"""Registry of services: the trackers and forges that the settings can name, one line each."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from bot.services.github.connect import GitHubService
from bot.services.interface import OfflineReader, Service, ServiceConnection
from bot.services.linear.connect import LinearService
from bot.services.local.connect import LocalService
from bot.settings.schema import ProjectSettings, Settings

if TYPE_CHECKING:
    from bot.domain.remote import Remote
    from bot.secret_scan.scanner import Secrets

SERVICES: dict[str, Service] = {
    "local": LocalService(),
    "github": GitHubService(),
    "linear": LinearService(),
}
"""Keyed by the word in the settings; a tracker comes after the forges that it may ask for permissions."""


def tracker_of(project: ProjectSettings) -> Service:
    return SERVICES[project.tracker]


def forge_of(project: ProjectSettings) -> Service:
    return SERVICES[project.forge]


def is_kept_here(project: ProjectSettings) -> bool:
    """True if its issues and its pull requests are kept in the state directory."""
    return tracker_of(project).kept_here and forge_of(project).kept_here


def used_by(projects: Sequence[ProjectSettings]) -> list[Service]:
    names = {name for project in projects for name in (project.tracker, project.forge)}
    return [service for name, service in SERVICES.items() if name in names]


@asynccontextmanager
async def open_services(settings: Settings, secrets: "Secrets") -> AsyncIterator[Mapping[str, ServiceConnection]]:
    """Connects the daemon to every service that a project uses. Keyed by name."""
    opened: dict[str, ServiceConnection] = {}
    async with AsyncExitStack() as stack:
        for service in used_by(settings.projects):
            connection = service.open(settings, secrets=secrets, opened=opened)
            opened[service.name] = await stack.enter_async_context(connection)
        yield opened


@contextmanager
def open_offline(settings: Settings) -> Iterator[Mapping[str, OfflineReader]]:
    """A reader for every service that a project uses, by name."""
    readers: dict[str, OfflineReader] = {}
    try:
        for service in used_by(settings.projects):
            readers[service.name] = service.open_offline(settings)
        yield readers
    finally:
        for reader in readers.values():
            reader.close()


async def remote_of(settings: Settings, project: ProjectSettings) -> "Remote":
    """A project's repository, with a credential that is valid now."""
    async with forge_of(project).open(settings, opened={}) as connection:
        return await connection.forge(project).remote()
