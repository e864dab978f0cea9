"""Pull requests of a repository on GitHub."""

from base64 import b64encode
from collections.abc import Collection
from urllib.parse import urlsplit

from bot.domain.comment import Reaction
from bot.domain.remote import Remote
from bot.errors import NeedsHuman
from bot.ports import ForgeView
from bot.services.github.repository import Repository

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class GitHubForge:
    def __init__(self, repository: Repository, *, api_url: str, remote: str = "") -> None:
        self._repository = repository
        api = urlsplit(api_url)
        self._api_host = api.hostname or ""
        self._schemes = {"https", api.scheme}
        self._remote = remote

    async def look(self, branches: Collection[str], *, fresh: bool = True) -> ForgeView:
        pulls, comments = await self._repository.look_at_pulls(branches, fresh=fresh)
        return ForgeView(pulls, comments, frozenset(self._repository.recollection.tips))

    async def remote(self, *, anew: bool = True) -> Remote:
        """The token goes to GitHub's own host only, and to nowhere it is led on to. `anew`: it is to last long."""
        await self._repository.ensure_known()
        url = self._remote or self._repository.facts.standing.clone_url
        place = urlsplit(url)
        if place.scheme not in self._schemes or not self._is_its_host(place.hostname or ""):
            return Remote(url)
        token = await self._repository.access.service.token_for(self._repository.name, for_push=anew)
        return Remote(url, _with_credential(f"{place.scheme}://{place.netloc.rpartition('@')[2]}/", token))

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        await self._repository.ensure_known()
        await self._repository.offering.ensure_draft(branch, base=base, title=title, body=body)

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        await self._repository.ensure_known()
        number = self._number(branch)
        await self._repository.saying.ensure(number, slug=slug, text=text, thread=thread)

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None:
        self._number(branch)
        await self._repository.reacting.ensure(comment, reaction)

    async def remove_branch(self, branch: str) -> None:
        await self._repository.ensure_known()
        await self._repository.offering.remove_branch(branch)

    def _number(self, branch: str) -> int:
        pull = self._repository.pulls.find(branch)
        if pull is None:
            raise NeedsHuman(f"There is no pull request of {branch}.")
        return int(pull["number"])

    def _is_its_host(self, host: str) -> bool:
        own = {self._api_host, self._api_host.removeprefix("api.")}
        return bool(host) and (host in own or {host, self._api_host} <= _LOOPBACK)


def _with_credential(url: str, token: str) -> dict[str, str]:
    """Through git's environment: neither a command line nor a file shows it."""
    basic = b64encode(f"x-access-token:{token}".encode()).decode()
    settings = {f"http.{url}.extraHeader": f"Authorization: Basic {basic}", "http.followRedirects": "false"}
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env
