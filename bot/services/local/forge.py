"""Local forge: pull requests over a bare repository; our branches never appear in the user's own repository."""

from asyncio import to_thread
from collections.abc import Collection, Mapping
from dataclasses import replace

from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.reaction import Reaction
from bot.domain.remote import Remote
from bot.errors import NeedsHuman
from bot.git.absent_content import lfs_folder
from bot.git.in_thread import in_thread
from bot.git.progress import Audience
from bot.ports import ForgeView, Poll
from bot.services.local.repository import OUR_BRANCHES
from bot.services.local.server import LocalServer


class LocalForge:
    """Runs git in threads; uses the database in the loop's thread."""

    def __init__(self, server: LocalServer, project: str) -> None:
        self._pull_requests = server.pull_requests(project)
        self._repository = self._pull_requests.repository
        self._fetching = Audience()
        self._merge_cache: dict[tuple[str, str], bool] = {}

    async def snapshot(self, branches: Collection[str], *, poll: Poll | None = None) -> ForgeView:  # noqa: ARG002 - everything is local
        everything = await to_thread(self._repository.all_tips)
        tips = {branch: tip for branch, tip in everything.items() if f"refs/heads/{branch}".startswith(OUR_BRANCHES)}
        pulls, comments = self._pull_requests.snapshot(branches, tips)
        conflicting = await to_thread(self._conflicting, list(pulls.values()), everything)
        shown = {branch: replace(pull, conflicts=branch in conflicting) for branch, pull in pulls.items()}
        return ForgeView(shown, comments, frozenset(tips))

    async def judge_again(self, branch: str, comments: Collection[str]) -> ForgeView:  # noqa: ARG002
        return await self.snapshot([branch])

    def _conflicting(self, pulls: Collection[PullRequest], tips: Mapping[str, str]) -> set[str]:
        """Tries each pair of commits once and caches the result."""
        pairs = {
            pull.branch: (tips[pull.base], pull.head)
            for pull in pulls
            if pull.state is PullRequestState.OPEN and pull.base in tips and pull.branch in tips
        }
        self._merge_cache = {
            pair: self._merge_cache[pair] if pair in self._merge_cache else self._repository.can_merge(*pair)
            for pair in pairs.values()
        }
        return {branch for branch, pair in pairs.items() if not self._merge_cache[pair]}

    async def remote(self) -> Remote:
        with self._fetching.joined():
            await in_thread(self._repository.fetch)
        git_dir = await to_thread(self._repository.user_git_dir)
        lfs = await to_thread(lfs_folder, git_dir)
        return Remote(str(self._repository.bare), here=True, lfs=str(lfs), modules=str(git_dir / "modules"))

    async def find_renamed(self, branch: str) -> str:  # noqa: ARG002 - git does not remember former names
        return ""

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        head = await to_thread(self._repository.tip, branch)
        if not head:
            raise NeedsHuman(f"There is no branch {branch} to open a pull request for.")
        onto = base or await to_thread(self._repository.base)
        number = self._pull_requests.ensure_draft(branch, base=onto, title=title, body=body, head=head)
        await to_thread(self._repository.keep_head, number, head)

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        self._pull_requests.ensure_comment(branch, slug=slug, text=text, thread=thread)

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None:
        self._pull_requests.ensure_reaction(branch, comment=comment, reaction=reaction)

    async def remove_branch(self, branch: str) -> None:
        head = await to_thread(self._repository.tip, branch)
        if head:
            self._pull_requests.ensure_closed(branch, head)
            await to_thread(self._repository.remove_branch, branch)
