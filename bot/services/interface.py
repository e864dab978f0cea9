"""Service: everything Treehand needs of one tracker or forge, for all projects that use it.

Rule: code outside `settings/`, `services/` and `cli/init*` asks the service, and never compares its name.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bot.domain.pull_request import PullRequest
from bot.errors import BadSettings
from bot.settings.schema import ProjectSettings, Settings

if TYPE_CHECKING:
    from bot.domain.webhook import WebhookAnswer
    from bot.ports import Forge, Lease, Tracker
    from bot.secret_scan.scanner import Secrets
    from bot.services.http.request_counts import RequestCounts
    from bot.workspace.mirror import Mirror


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key that a service recognized, and the projects it may belong to, likeliest first."""

    key: str
    projects: Sequence[ProjectSettings]


class PersonTracker(Protocol):
    """Writes on a tracker in the name of a person who uses the dashboard or the command line."""

    async def comment_as(self, key: str, person: str, text: str) -> None: ...
    async def open_issue(self, title: str, body: str, labels: Sequence[str], *, by: str) -> str:
        """Returns the issue's key."""
        ...


class PushPermissions(Protocol):
    """Push permissions on a repository."""

    async def login_of(self, email: str) -> str:
        """Login that has verified this address; empty if there is none."""
        ...

    async def may_push(self, login: str) -> bool: ...


class ServiceConnection(Protocol):
    """An open connection for all projects that use the service."""

    def tracker(self, project: ProjectSettings) -> "Tracker": ...
    def forge(self, project: ProjectSettings) -> "Forge":
        raise BadSettings(f"{project.name}: {project.forge} is no forge.")

    def lease(self, project: ProjectSettings, mirror: "Mirror") -> "Lease | None":
        """Pushes from the mirror check it. None if no other daemon can act on the repository."""
        return None

    def check_lease(self, project: ProjectSettings) -> None:
        """Raises Elsewhere when another daemon might hold the project's lease."""
        return

    def permissions(self, project: ProjectSettings) -> PushPermissions | None:
        """Is None if everyone who may steer may push."""
        return None

    @property
    def request_counts(self) -> "RequestCounts | None":
        """Is None if it sends no requests."""
        return None


class OfflineReader(Protocol):
    """The last known state of a service, without a request. `project` is a project's name."""

    def titles(self, project: str) -> Mapping[str, str]:
        """Keyed by issue key."""
        return {}

    def urls(self, project: str) -> Mapping[str, str]:
        """Keyed by issue key, for issues that have a page of their own."""
        return {}

    def pull_requests(self, project: str, branches: Collection[str]) -> Mapping[str, PullRequest]:
        """Keyed by branch."""
        return {}

    def availability(self) -> Mapping[str, tuple[bool, str]]:
        """Findings for `treehand status`, keyed by name: true if it answers, and a sentence."""
        return {}

    def waits_until(self, now: float) -> float:
        """End of its rate limit; 0 if it sets none now."""
        return 0.0

    def lease_holders(self) -> Mapping[str, str]:
        """Keyed by project: the other daemon that holds its lease, in words."""
        return {}

    def close(self) -> None:
        return None


class EmptyOfflineReader(OfflineReader):
    """Reader of a service that keeps no cache."""


class Service(Protocol):
    """A tracker, a forge, or both. To add one: a folder with an implementation, and its line in the registry."""

    name: str
    """Its word in the settings."""
    title: str
    """Its name for people."""
    site: str
    """Its name for people, after a verb: `on GitHub`."""
    kept_here: bool = False
    """Its issues and pull requests are kept in the state directory."""
    still_works: str = ""
    """Sentence for people: what still works while it does not answer."""
    has_webhook: bool = False
    webhook_signature_header: str = ""
    """A webhook without a signature there is refused unread."""
    webhook_pause_seconds: float = 0.0
    """Webhooks that arrive within this time wake the daemon once."""

    def open(
        self,
        settings: Settings,
        *,
        secrets: "Secrets | None" = None,
        opened: Mapping[str, ServiceConnection],
    ) -> AbstractAsyncContextManager[ServiceConnection]:
        """With `secrets` for the daemon, without for a command. `opened`: services opened before, by name."""
        ...

    def open_for_person(
        self, settings: Settings, project: ProjectSettings
    ) -> AbstractAsyncContextManager[PersonTracker]: ...

    def open_offline(self, settings: Settings) -> OfflineReader:
        return EmptyOfflineReader()

    def key_of(self, settings: Settings, project: ProjectSettings, number: int) -> str:
        """The key of a project's issue."""
        return f"{project.name}#{number}"

    def find_key(self, settings: Settings, text: str) -> FoundKey | None:
        """Is None unless `text` is a key in a form that only this service has."""
        return None

    def place_of(self, project: ProjectSettings) -> str:
        """Place of a project's issues, in words."""
        ...

    def describe_repository(self, settings: Settings, project: ProjectSettings) -> str:
        """In words, for `treehand check`. Raises if it cannot be used."""
        return project.repository

    async def check(
        self,
        settings: Settings,
        project: ProjectSettings,
        *,
        fix: bool,
    ) -> Sequence[tuple[str, bool, str]]:
        """Findings of `treehand check`: name, whether it is well, and the problem."""
        return ()

    def webhook_secret(self, settings: Settings) -> str:
        return ""

    def parse_webhook(self, secret: str, headers: Mapping[str, str], body: bytes, now: float) -> "WebhookAnswer":
        from bot.domain.webhook import WebhookAnswer

        return WebhookAnswer(404, "This service sends no webhooks.\n")


def with_author(body: str, person: str) -> str:
    """The text of an issue that the bot opens for a person."""
    from bot.text.quote_untrusted import code_span

    return f"{body}\n\nAsked for by {code_span(person)}.".strip()
