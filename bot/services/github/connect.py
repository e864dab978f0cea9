"""How GitHub is reached, by which settings; and who may act on each repository there."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import BadSettings, NeedsHuman
from bot.settings import ProjectSettings, Settings
from bot.settings.credentials import daemon_id, github_app_key, github_token, host_name, marker_secrets
from bot.system import clock

if TYPE_CHECKING:
    from bot.domain.remote import Remote
    from bot.secret_scan.scanner import Secrets
    from bot.services.github.auth import Credential
    from bot.services.github.repository import Repository
    from bot.services.http.request_counts import Tally
    from bot.workspace.lease import GitClaim
    from bot.workspace.lease_ref import Entry
    from bot.workspace.mirror import Mirror

OURS = "ours"


@dataclass(frozen=True, slots=True)
class Connections:
    """Every repository that a project has on GitHub."""

    repositories: Mapping[str, "Repository"] = field(default_factory=dict)
    """By the project's name."""
    claims: dict[str, "GitClaim"] = field(default_factory=dict)
    """By the repository's name in lower case: projects that share one share its claim."""

    def check(self, repository: str) -> None:
        if claim := self.claims.get(repository.lower()):
            claim.check()

    def claim(
        self, settings: Settings, project: ProjectSettings, mirror: "Mirror", remote: Callable[[], Awaitable["Remote"]]
    ) -> "GitClaim | None":
        """What is pushed from the mirror, and written to the repository, is from now on written under it."""
        from bot.workspace.lease import GitClaim, Who
        from bot.workspace.lease_ref import ClaimRef

        seconds, repository = settings.limits.claim_seconds, project.repository.lower()
        if not seconds:
            return None
        if repository not in self.claims:
            own = Who(daemon_id(settings.state_dir), host_name())
            self.claims[repository] = GitClaim(ClaimRef(mirror), remote, own=own, seconds=seconds, clock=clock.steady)
        mirror.fence = self.claims[repository].check
        return self.claims[repository]


@asynccontextmanager
async def on_github(
    settings: Settings, secrets: "Secrets | None" = None, tallies: "dict[str, Tally] | None" = None
) -> AsyncIterator[Connections]:
    """With `secrets`, as the daemon; without, as a command that a person typed. `tallies` are told of this one's."""
    there = [project for project in settings.projects if "github" in {project.tracker, project.forge}]
    if not there:
        yield Connections()
        return
    from bot.services.github.client import GitHub
    from bot.services.github.http_cache import open_memory, own_memory
    from bot.services.github.repository import Repository, Rules

    credential, path = _credential(settings, secrets), settings.state_dir / "github.db"
    memory = own_memory(path, at=clock.now()) if secrets else open_memory(path)
    secret, *older = marker_secrets(settings)
    repositories: dict[str, Repository] = {}
    connections = Connections(repositories)
    async with GitHub(settings.github.api_url, credential, memory, fence=connections.check) as service:
        (tallies if tallies is not None else {})["github"] = service.tally
        for project in there:
            rules = Rules(settings.label, project.trusted)
            repositories[project.name] = Repository(
                service, project.repository, memory, rules=rules, secret=secret, older=older
            )
        yield connections
    memory.close()


async def is_installed(settings: Settings, name: str) -> bool:
    """Whether the GitHub App may already be used on a project's repository."""
    async with on_github(settings) as there:
        try:
            await there.repositories[name].access.get("")
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


def claim_at(remote: "Remote", folder: Path) -> "Entry":
    """What is there now. The folder is for git, and of no use afterwards."""
    from bot.workspace.lease_ref import ClaimRef
    from bot.workspace.mirror import Mirror

    return ClaimRef(Mirror(folder / "claim.git")).read(remote)


def holder_in_words(settings: Settings, entry: "Entry") -> str:
    """Who may act on a repository; empty: nobody does at the moment."""
    record = entry.record
    if record is None or record.free:
        return ""
    if record.by == daemon_id(settings.state_dir):
        return OURS
    return f"held by another treehand ({record.holder})"
