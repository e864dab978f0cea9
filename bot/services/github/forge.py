"""Forge on GitHub: pull requests, their comments and branches, and the remote to push to."""

from base64 import b64encode
from collections.abc import Collection
from urllib.parse import urlsplit

from bot.domain.reaction import Reaction
from bot.domain.remote import CommitAuthor, Remote
from bot.errors import NeedsHuman
from bot.ports import ForgeView, Poll
from bot.services.github.errors import NoGraphQL
from bot.services.github.parse import expected_shapes
from bot.services.github.repository import GitHubRepository

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class GitHubForge:
    def __init__(self, repository: GitHubRepository, *, api_url: str, remote: str = "") -> None:
        self._repository = repository
        api = urlsplit(api_url)
        self._api_host = api.hostname or ""
        self._schemes = {"https", api.scheme}
        self._remote = remote

    async def snapshot(self, branches: Collection[str], *, poll: Poll | None = None) -> ForgeView:
        pulls, comments = await self._repository.snapshot_pulls(branches, poll or Poll())
        return ForgeView(pulls, comments, frozenset(self._repository.offline.tips))

    async def judge_again(self, branch: str, comments: Collection[str]) -> ForgeView:
        return ForgeView(comments=await self._repository.judge_pull_again(branch, comments))

    async def remote(self, *, fresh: bool = True) -> Remote:
        """The token goes to GitHub's own host only, and follows no redirect. `fresh`: mint one that lasts long."""
        await self._repository.ensure_info()
        url = self._remote or self._repository.info.status.clone_url
        author = await self._author() if fresh else None
        place = urlsplit(url)
        if place.scheme not in self._schemes or not self._is_api_host(place.hostname or ""):
            return Remote(url, author=author)
        token = await self._repository.api.client.token_for(self._repository.api.name, for_push=fresh)
        env = _with_credential(f"{place.scheme}://{place.netloc.rpartition('@')[2]}/", token)
        return Remote(url, env, author=author)

    async def find_renamed(self, branch: str) -> str:
        await self._repository.ensure_info()
        with expected_shapes():
            return await self._repository.renamed_branches.find(branch)

    async def _author(self) -> CommitAuthor | None:
        """Returns the account by its noreply address, which links its commits to it.

        https://docs.github.com/en/account-and-profile/reference/email-addresses-reference
        """
        try:
            account = await self._repository.api.client.account()
        except (NeedsHuman, NoGraphQL):  # a token that may not read its own account
            return None
        host = urlsplit(self._repository.info.status.clone_url).hostname or "github.com"
        number = f"{account.id}+" if account.id else ""
        return CommitAuthor(account.login, f"{number}{account.login}@users.noreply.{host}")

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        await self._repository.ensure_info()
        with expected_shapes():
            await self._repository.pull_request_writer.ensure_draft(branch, base=base, title=title, body=body)

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        await self._repository.ensure_info()
        number = self._number(branch)
        with expected_shapes():
            await self._repository.comment_writer.ensure(number, slug=slug, text=text, thread=thread)

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None:
        self._number(branch)
        with expected_shapes():
            await self._repository.reactions.ensure(comment, reaction)

    async def remove_branch(self, branch: str) -> None:
        await self._repository.ensure_info()
        with expected_shapes():
            await self._repository.pull_request_writer.remove_branch(branch)

    def _number(self, branch: str) -> int:
        pull = self._repository.pulls.find(branch)
        if pull is None:
            raise NeedsHuman(f"There is no pull request of {branch}.")
        return int(pull["number"])

    def _is_api_host(self, host: str) -> bool:
        own = {self._api_host, self._api_host.removeprefix("api.")}
        return bool(host) and (host in own or {host, self._api_host} <= _LOOPBACK)


def _with_credential(url: str, token: str) -> dict[str, str]:
    """Environment for git with the token: it appears on no command line and in no file."""
    basic = b64encode(f"x-access-token:{token}".encode()).decode()
    settings = {f"http.{url}.extraHeader": f"Authorization: Basic {basic}", "http.followRedirects": "false"}
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env
