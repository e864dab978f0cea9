"""Linear as a service: opens its teams by the settings, and matches people there with logins on the forge."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.errors import NeedsHuman
from bot.services.interface import FoundKey, OfflineReader, Service, ServiceConnection
from bot.settings.credentials import linear_authorization, linear_webhook_secret, marker_secrets
from bot.settings.schema import ProjectSettings, Settings
from bot.system import clock

if TYPE_CHECKING:
    import sqlite3

    from bot.domain.webhook import WebhookAnswer
    from bot.secret_scan.scanner import Secrets
    from bot.services.http.request_counts import RequestCounts
    from bot.services.interface import PushPermissions
    from bot.services.linear.cache import Cache
    from bot.services.linear.client import LinearClient
    from bot.services.linear.permissions import MayPush
    from bot.services.linear.project_issues import ProjectIssues
    from bot.services.linear.team_info import TeamInfo
    from bot.services.linear.team_routing import TeamRoute
    from bot.services.linear.tracker import LinearTracker
    from bot.services.linear.workflow_states import WantedMoves

_DATABASE = "linear.db"
_KEY = re.compile(r"(?P<team>[A-Za-z][A-Za-z0-9]*)-[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LinearConnection(ServiceConnection):
    """The issues of every project that has them in Linear."""

    issues: Mapping[str, "ProjectIssues"]
    """Keyed by the project's name."""
    counts: "RequestCounts"

    @property
    def request_counts(self) -> "RequestCounts":
        return self.counts

    def tracker(self, project: ProjectSettings) -> "LinearTracker":
        from bot.services.linear.tracker import LinearTracker

        return LinearTracker(self.issues[project.name])


@dataclass(frozen=True, slots=True)
class LinearOfflineReader(OfflineReader):
    db: "sqlite3.Connection"

    def titles(self, project: str) -> Mapping[str, str]:  # noqa: ARG002 - keys are unique over all teams
        return self._cache.titles()

    def urls(self, project: str) -> Mapping[str, str]:  # noqa: ARG002
        return self._cache.addresses()

    def availability(self) -> Mapping[str, tuple[bool, str]]:
        from bot.services.http.availability import problems_of

        return problems_of(self.db, LinearService.name)

    def waits_until(self, now: float) -> float:
        from bot.services.http.availability import read_holds

        return max(read_holds(self.db, now=now).values(), default=0.0)

    def close(self) -> None:
        self.db.close()

    @property
    def _cache(self) -> "Cache":
        from bot.services.linear.cache import Cache

        return Cache(self.db)


class LinearService(Service):
    name = "linear"
    title = "Linear"
    site = "in Linear"
    still_works = "Running agents continue; issues are read and written once Linear accepts requests"
    has_webhook = True
    webhook_signature_header = "linear-signature"
    webhook_pause_seconds = 3.0  # Linear reports every edit, ours included

    @asynccontextmanager
    async def open(
        self,
        settings: Settings,
        *,
        secrets: "Secrets | None" = None,
        opened: Mapping[str, ServiceConnection],
    ) -> AsyncIterator[LinearConnection]:
        """Writes for a project check the lease of its repository, which the forge in `opened` holds."""
        from bot.services.http.availability import Availability
        from bot.services.linear.cache import Cache, open_cache, open_or_replace_cache
        from bot.services.linear.client import LinearClient
        from bot.services.linear.team_info import TeamInfo

        path = settings.state_dir / _DATABASE
        db = open_or_replace_cache(path, at=clock.now()) if secrets else open_cache(path)
        async with LinearClient(settings.linear.api_url, linear_authorization(settings), db) as client:
            cache, availability = Cache(db), Availability(db, self.title)
            teams = {project.team.upper() for project in _projects(settings)}
            infos = {team: TeamInfo(client, team, cache, availability) for team in teams}
            yield LinearConnection(_issues(settings, opened, client, cache, infos), client.request_counts)
        db.close()

    @asynccontextmanager
    async def open_for_person(self, settings: Settings, project: ProjectSettings) -> AsyncIterator["LinearTracker"]:
        async with self.open(settings, opened={}) as connection:
            yield connection.tracker(project)

    def open_offline(self, settings: Settings) -> LinearOfflineReader:
        from bot.services.linear.cache import open_cache

        return LinearOfflineReader(open_cache(settings.state_dir / _DATABASE))

    def key_of(self, settings: Settings, project: ProjectSettings, number: int) -> str:  # noqa: ARG002
        return f"{project.team.upper()}-{number}"

    def find_key(self, settings: Settings, text: str) -> FoundKey | None:
        """Several projects may share a team, and an issue may have moved here from another team."""
        match = _KEY.fullmatch(text)
        if match is None:
            return None
        key, projects = match[0].upper(), _projects(settings)
        if not projects:
            raise NeedsHuman(f"No project has its issues in Linear, so there is no {key}.")
        own = [project for project in projects if project.team.lower() == match["team"].lower()]
        return FoundKey(key, [*own, *(project for project in projects if project not in own)])

    def place_of(self, project: ProjectSettings) -> str:
        return f"Linear, team {project.team}"

    async def check(
        self, settings: Settings, project: ProjectSettings, *, fix: bool
    ) -> Sequence[tuple[str, bool, str]]:
        from bot.domain.phase_labels import phase_labels
        from bot.services.linear.diagnose import SetupCheck

        labels = (settings.label, *sorted(phase_labels(settings.label)))
        async with self.open(settings, opened={}) as connection:
            return await SetupCheck(connection.issues[project.name], _moves(settings)).inspect(labels, fix=fix)

    def webhook_secret(self, settings: Settings) -> str:
        return linear_webhook_secret(settings)

    def parse_webhook(self, secret: str, headers: Mapping[str, str], body: bytes, now: float) -> "WebhookAnswer":
        from bot.services.linear.webhook import parse_webhook

        return parse_webhook(secret, headers, body, now)


def _projects(settings: Settings) -> list[ProjectSettings]:
    return [project for project in settings.projects if project.tracker == LinearService.name]


def _issues(
    settings: Settings,
    opened: Mapping[str, ServiceConnection],
    client: "LinearClient",
    cache: "Cache",
    infos: Mapping[str, "TeamInfo"],
) -> Mapping[str, "ProjectIssues"]:
    from bot.services.linear.comment_markers import Markers
    from bot.services.linear.permissions import Permissions
    from bot.services.linear.project_issues import IssueRules, ProjectIssues
    from bot.services.linear.team_sync import TeamSync

    label, (secret, *older) = settings.label, marker_secrets(settings)
    teams = {key: TeamSync(client, key, cache, info, label=label) for key, info in infos.items()}
    issues: dict[str, ProjectIssues] = {}
    for project in _projects(settings):
        forge = opened.get(project.forge)
        rules = IssueRules(label, _route(project), _routes(settings, project.team), _moves(settings))
        permissions = Permissions(project.trusted, _may_push(settings, forge.permissions(project) if forge else None))
        markers = Markers(secret, _home(settings, project), older=older)
        fence = partial(forge.check_lease, project) if forge else _check_nothing
        issues[project.name] = ProjectIssues(teams[project.team.upper()], rules, permissions, markers, fence)
    return issues


def _check_nothing() -> None:
    """A command writes without a lease."""


def _route(project: ProjectSettings) -> "TeamRoute":
    from bot.services.linear.team_routing import TeamRoute

    repository = project.repository if project.forge == "github" else ""
    return TeamRoute(project.name, repository, project.linear_projects, project.default)


def _routes(settings: Settings, team: str) -> tuple["TeamRoute", ...]:
    return tuple(_route(project) for project in _projects(settings) if project.team.lower() == team.lower())


def _moves(settings: Settings) -> "WantedMoves":
    from bot.services.linear.workflow_states import WantedMoves

    linear = settings.linear
    return WantedMoves(linear.started, linear.review, linear.completed, linear.back)


def _home(settings: Settings, project: ProjectSettings) -> str:
    """Target of the link below our comments: the repository, or Linear itself."""
    api = urlsplit(settings.github.api_url if project.forge == "github" else settings.linear.api_url)
    site = f"{api.scheme}://{api.netloc.removeprefix('api.')}"
    return f"{site}/{project.repository}" if project.forge == "github" else site


def _may_push(settings: Settings, forge: "PushPermissions | None") -> "MayPush":
    logins = {person.lower(): login for person, login in settings.linear.people.items()}

    async def may_push(person: str, email: str) -> bool:
        """Everybody who is trusted, if the forge has no permissions of its own."""
        if forge is None:
            return True
        login = logins.get(person.lower()) or logins.get(email) or await forge.login_of(email)
        return bool(login) and await forge.may_push(login)

    return may_push
