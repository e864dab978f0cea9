"""GitHub as a service: opens it by the settings, and holds the leases of its repositories."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import BadSettings, NeedsHuman
from bot.services.interface import OfflineReader, Service, ServiceConnection
from bot.settings.credentials import (
    daemon_id,
    github_app_key,
    github_token,
    marker_secrets,
    webhook_secret,
)
from bot.settings.schema import ProjectSettings, Settings
from bot.system import clock
from bot.system.locks import daemon_pid

if TYPE_CHECKING:
    import sqlite3

    from bot.domain.pull_request import PullRequest
    from bot.domain.remote import Remote
    from bot.domain.webhook import WebhookAnswer
    from bot.secret_scan.scanner import Secrets
    from bot.services.github.auth import Credential
    from bot.services.github.forge import GitHubForge
    from bot.services.github.offline import OfflineView
    from bot.services.github.repository import GitHubRepository
    from bot.services.github.tracker import GitHubTracker
    from bot.services.http.request_counts import RequestCounts
    from bot.workspace.lease import GitLease
    from bot.workspace.lease_ref import LeaseEntry
    from bot.workspace.mirror import Mirror

_DATABASE = "github.db"
_PROBE_SECONDS = 5.0
_QUIET_LEASE = 10
"""While no agent works, the lease is for so many times `limits.claim_seconds`."""
_FREE = "free: no daemon holds it"
_GITHUB_HEADER = "x-github-request-id"
"""GitHub sends it with every answer, also with refusals; other servers do not."""


@dataclass(frozen=True, slots=True)
class GitHubConnection(ServiceConnection):
    """Every repository on GitHub that a project uses."""

    settings: Settings
    repositories: Mapping[str, "GitHubRepository"] = field(default_factory=dict)
    """Keyed by the project's name."""
    counts: "RequestCounts | None" = None
    leases: dict[str, "GitLease"] = field(default_factory=dict)
    """Keyed by the repository's name in lower case: projects that share a repository share its lease."""

    @property
    def request_counts(self) -> "RequestCounts | None":
        return self.counts

    def tracker(self, project: ProjectSettings) -> "GitHubTracker":
        from bot.services.github.tracker import GitHubTracker

        return GitHubTracker(self.repositories[project.name])

    def forge(self, project: ProjectSettings) -> "GitHubForge":
        from bot.services.github.forge import GitHubForge

        api_url = self.settings.github.api_url
        return GitHubForge(self.repositories[project.name], api_url=api_url, remote=project.remote)

    def permissions(self, project: ProjectSettings) -> "GitHubRepository":
        return self.repositories[project.name]

    def check_lease(self, project: ProjectSettings) -> None:
        self.check_lease_of(project.repository)

    def check_lease_of(self, repository: str) -> None:
        if lease := self.leases.get(repository.lower()):
            lease.check()

    def lease(self, project: ProjectSettings, mirror: "Mirror") -> "GitLease | None":
        """Makes the mirror check it before each push, and the client before each write."""
        from bot.workspace.lease import DaemonId, GitLease
        from bot.workspace.lease_ref import LeaseRef

        seconds, repository = self.settings.limits.claim_seconds, project.repository.lower()
        if not seconds:
            return None
        if repository not in self.leases:
            own, remote = DaemonId(daemon_id(self.settings.state_dir)), self.forge(project).remote
            self.leases[repository] = GitLease(
                LeaseRef(mirror),
                partial(remote, fresh=False),
                own=own,
                seconds=seconds,
                clock=clock.steady,
                quiet_seconds=seconds * _QUIET_LEASE,
            )
        mirror.check_lease = self.leases[repository].check
        return self.leases[repository]


@dataclass(frozen=True, slots=True)
class GitHubOfflineReader(OfflineReader):
    db: "sqlite3.Connection"
    settings: Settings

    def titles(self, project: str) -> Mapping[str, str]:
        from bot.services.github.repository_names import first_name_of

        repository = first_name_of(self.db, self._repository(project))
        return {f"{repository}#{number}": title for number, title in self._view(project).titles().items()}

    def urls(self, project: str) -> Mapping[str, str]:
        from bot.services.github.repository_names import first_name_of

        repository = first_name_of(self.db, self._repository(project))
        return {f"{repository}#{number}": url for number, url in self._view(project).addresses().items()}

    def pull_requests(self, project: str, branches: Collection[str]) -> Mapping[str, "PullRequest"]:  # noqa: ARG002
        return self._view(project).pulls()

    def availability(self) -> Mapping[str, tuple[bool, str]]:
        from bot.services.http.availability import problems_of

        return {**problems_of(self.db, GitHubService.name), **self._renamed_bases()}

    def _renamed_bases(self) -> Mapping[str, tuple[bool, str]]:
        """Projects whose settings name their base by a former name, which is followed."""
        from bot.services.github.cache import Cache
        from bot.services.github.renamed_branches import read_renamed, why_followed
        from bot.services.github.repository_names import first_name_of

        found = {}
        for project in self.settings.projects:
            if project.base and project.forge == GitHubService.name:
                names = read_renamed(Cache(self.db, first_name_of(self.db, project.repository)))
                if now := names.get(project.base):
                    found[f"base {project.name}"] = (True, why_followed(project.base, now))
        return found

    def waits_until(self, now: float) -> float:
        from bot.services.http.availability import read_holds

        return max(read_holds(self.db, now=now).values(), default=0.0)

    def lease_holders(self) -> Mapping[str, str]:
        """As the daemon that runs here last saw them; empty while none runs."""
        if not self.settings.limits.claim_seconds or not daemon_pid(self.settings.state_dir):
            return {}
        from bot.workspace.lease_ref import read_last_seen
        from bot.workspace.paths import ProjectPaths

        names = [project.name for project in self.settings.projects if project.forge == GitHubService.name]
        seen = {name: read_last_seen(ProjectPaths(self.settings.state_dir, name).mirror) for name in names}
        holders = {name: _other_holder(self.settings, entry) for name, entry in seen.items() if entry}
        return {name: holder for name, holder in holders.items() if holder}

    def close(self) -> None:
        self.db.close()

    def _repository(self, project: str) -> str:
        return next(known.repository for known in self.settings.projects if known.name == project)

    def _view(self, project: str) -> "OfflineView":
        from bot.services.github.cache import Cache
        from bot.services.github.offline import OfflineView
        from bot.services.github.repository_names import first_name_of

        return OfflineView(Cache(self.db, first_name_of(self.db, self._repository(project))))


class GitHubService(Service):
    name = "github"
    title = "GitHub"
    site = "on GitHub"
    still_works = "Running agents continue; their work is published once GitHub accepts requests"
    has_webhook = True
    webhook_signature_header = "x-hub-signature-256"

    @asynccontextmanager
    async def open(
        self,
        settings: Settings,
        *,
        secrets: "Secrets | None" = None,
        opened: Mapping[str, ServiceConnection],  # noqa: ARG002
    ) -> AsyncIterator[GitHubConnection]:
        from bot.services.github.cache import open_cache, open_or_replace_cache
        from bot.services.github.client import GitHubClient
        from bot.services.github.repository import GitHubRepository, RepositoryRules

        credential, path = _credential(settings, secrets), settings.state_dir / _DATABASE
        db = open_or_replace_cache(path, at=clock.now()) if secrets else open_cache(path)
        secret, *older = marker_secrets(settings)
        leases: dict[str, GitLease] = {}
        fence = GitHubConnection(settings, leases=leases).check_lease_of
        async with GitHubClient(settings.github.api_url, credential, db, fence=fence) as client:
            repositories = {
                project.name: GitHubRepository(
                    client, project.repository, db,
                    rules=RepositoryRules(settings.label, project.trusted), secret=secret, older=older,
                )
                for project in settings.projects if self.name in {project.tracker, project.forge}
            }  # fmt: skip
            yield GitHubConnection(settings, repositories, client.request_counts, leases)
        db.close()

    @asynccontextmanager
    async def open_for_person(self, settings: Settings, project: ProjectSettings) -> AsyncIterator["GitHubTracker"]:
        async with self.open(settings, opened={}) as connection:
            yield connection.tracker(project)

    def open_offline(self, settings: Settings) -> GitHubOfflineReader:
        from bot.services.github.cache import open_cache

        return GitHubOfflineReader(open_cache(settings.state_dir / _DATABASE), settings)

    def key_of(self, settings: Settings, project: ProjectSettings, number: int) -> str:
        return f"{_first_name(settings, project)}#{number}"

    def place_of(self, project: ProjectSettings) -> str:
        return project.repository

    def describe_repository(self, settings: Settings, project: ProjectSettings) -> str:  # noqa: ARG002
        return f"{project.repository} on GitHub, base {project.base or 'the default branch'}"

    async def check(
        self, settings: Settings, project: ProjectSettings, *, fix: bool
    ) -> Sequence[tuple[str, bool, str]]:
        from bot.domain.phase_labels import phase_labels

        labels = (settings.label, *sorted(phase_labels(settings.label)))
        async with self.open(settings, opened={}) as connection:
            repository = connection.repositories[project.name]
            if fix:
                await repository.setup_check.create_labels(labels)
            findings = await repository.setup_check.inspect(labels)
            if project.base and all(ok for _, ok, _ in findings):
                findings.append(await repository.renamed_branches.check(project.base))
            if not settings.limits.claim_seconds or not all(ok for _, ok, _ in findings):
                return findings
            remote = await connection.forge(project).remote(fresh=False)
        return [*findings, ("lease", True, await _describe_holder(settings, remote))]

    def webhook_secret(self, settings: Settings) -> str:
        return webhook_secret(settings)

    def parse_webhook(self, secret: str, headers: Mapping[str, str], body: bytes, now: float) -> "WebhookAnswer":  # noqa: ARG002
        from bot.services.github.webhook import parse_webhook

        return parse_webhook(secret, headers, body)


async def is_installed(settings: Settings, name: str) -> bool:
    """True if the GitHub App may be used on a project's repository."""
    async with GitHubService().open(settings, opened={}) as connection:
        try:
            await connection.repositories[name].api.get("")
        except NeedsHuman:
            return False
    return True


def _credential(settings: Settings, secrets: "Secrets | None") -> "Credential":
    from bot.services.github.auth import AppCredential, TokenCredential

    if key := github_app_key(settings):
        learn = partial(secrets.learn, "a token of the GitHub App") if secrets else lambda _: None
        return AppCredential(settings.github.app_id, key, settings.github.installation_id, learn)
    if token := github_token(settings):
        return TokenCredential(token)
    raise BadSettings("There is no token for GitHub: set GITHUB_TOKEN, github.token_file, or github.app_id for an App.")


def is_github(api_url: str) -> bool:
    """Asks an unknown server one question, without a credential. False if it does not answer."""
    import httpx

    try:
        answer = httpx.get(f"{api_url}/meta", timeout=_PROBE_SECONDS, follow_redirects=False)
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return _GITHUB_HEADER in answer.headers


async def _describe_holder(settings: Settings, remote: "Remote") -> str:
    import asyncio
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        entry = await asyncio.to_thread(_read_lease, remote, Path(folder))
    if other := _other_holder(settings, entry):
        return other
    return f"this daemon holds it ({entry.record.name})" if entry.record and not entry.record.free else _FREE


def _read_lease(remote: "Remote", folder: Path) -> "LeaseEntry":
    """The folder holds a temporary mirror."""
    from bot.workspace.lease_ref import LeaseRef
    from bot.workspace.mirror import Mirror

    return LeaseRef(Mirror(folder / "claim.git")).read(remote)


def _other_holder(settings: Settings, entry: "LeaseEntry") -> str:
    """In words; empty if this daemon holds the lease, or no daemon does."""
    record = entry.record
    if record is None or record.free or record.by == daemon_id(settings.state_dir):
        return ""
    return f"another daemon holds it (daemon {record.holder})"


def _first_name(settings: Settings, project: ProjectSettings) -> str:
    """Returns the name that keys of the repository's issues begin with."""
    from bot.services.github.cache import open_cache
    from bot.services.github.repository_names import first_name_of

    path = settings.state_dir / _DATABASE
    if not path.exists():
        return project.repository
    with closing(open_cache(path)) as db:
        return first_name_of(db, project.repository)
