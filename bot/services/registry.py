"""Which adapter does what, by the word that the settings have for it: a new tracker or forge has its line here.

Rule: each is imported when it is chosen, for some take long to import.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.services.github.connect import Connections
from bot.services.local.server import Desk
from bot.settings import ProjectSettings, Settings

if TYPE_CHECKING:
    from bot.ports import Forge, Tracker
    from bot.services.github.forge import GitHubForge
    from bot.services.github.repository import Repository
    from bot.services.http.request_counts import Tally
    from bot.services.linear.project_issues import Scope
    from bot.services.linear.tracker import LinearTracker


@dataclass(frozen=True, slots=True)
class Services:
    """What projects have elsewhere, by their names."""

    github: Connections
    linear: Mapping[str, "Scope"]
    tallies: Mapping[str, "Tally"] = field(default_factory=dict)
    """What was asked of them, and answered, by their own names."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a project's tracker and forge are made of."""

    project: ProjectSettings
    settings: Settings
    desk: Desk
    services: Services

    @property
    def repository(self) -> "Repository | None":
        return self.services.github.repositories.get(self.project.name)


def _embedded_tracker(parts: Parts) -> "Tracker":
    from bot.services.local.tracker import LocalTracker

    return LocalTracker(parts.desk, parts.project.name, label=parts.settings.label)


def _tracker_on_github(parts: Parts) -> "Tracker":
    from bot.services.github.tracker import GitHubTracker

    return GitHubTracker(parts.services.github.repositories[parts.project.name])


def _tracker_in_linear(parts: Parts) -> "Tracker":
    return linear_tracker(parts.services.linear[parts.project.name])


def _embedded_forge(parts: Parts) -> "Forge":
    from bot.services.local.forge import LocalForge

    return LocalForge(parts.desk, parts.project.name)


def _forge_on_github(parts: Parts) -> "Forge":
    return github_forge(parts.project, parts.settings, parts.services.github.repositories[parts.project.name])


TRACKERS: Mapping[str, Callable[[Parts], "Tracker"]] = {
    "local": _embedded_tracker,
    "github": _tracker_on_github,
    "linear": _tracker_in_linear,
}
FORGES: Mapping[str, Callable[[Parts], "Forge"]] = {
    "local": _embedded_forge,
    "github": _forge_on_github,
}
"""By the words that the settings have for them. Each imports its adapter when it is chosen."""


def linear_tracker(scope: "Scope") -> "LinearTracker":
    from bot.services.linear.tracker import LinearTracker

    return LinearTracker(scope)


def github_forge(project: ProjectSettings, settings: Settings, repository: "Repository") -> "GitHubForge":
    from bot.services.github.forge import GitHubForge

    return GitHubForge(repository, api_url=settings.github.api_url, remote=project.remote)
