"""Pull requests of the embedded forge: our branches are in its bare repository, and nowhere in the person's own."""

from asyncio import to_thread
from collections.abc import Collection, Mapping
from dataclasses import replace

from bot.domain.comment import Reaction
from bot.domain.pull_request import PullRequest, PullRequestState
from bot.domain.remote import Remote
from bot.errors import NeedsHuman
from bot.ports import ForgeView
from bot.services.local.repository import OURS
from bot.services.local.server import Desk


class LocalForge:
    """Git runs in threads; the database belongs to the thread of the loop."""

    def __init__(self, desk: Desk, project: str) -> None:
        self._pulls = desk.pulls(project)
        self._repository = self._pulls.repository
        self._merges: dict[tuple[str, str], bool] = {}

    async def look(self, branches: Collection[str], *, fresh: bool = True) -> ForgeView:  # noqa: ARG002 - it is all here
        everything = await to_thread(self._repository.all_tips)
        tips = {branch: tip for branch, tip in everything.items() if f"refs/heads/{branch}".startswith(OURS)}
        pulls, comments = self._pulls.snapshot(branches, tips)
        conflicting = await to_thread(self._conflicting, list(pulls.values()), everything)
        shown = {branch: replace(pull, conflicts=branch in conflicting) for branch, pull in pulls.items()}
        return ForgeView(shown, comments, frozenset(tips))

    def _conflicting(self, pulls: Collection[PullRequest], tips: Mapping[str, str]) -> set[str]:
        """Two commits are tried once: an idle look costs nothing."""
        pairs = {
            pull.branch: (tips[pull.base], pull.head)
            for pull in pulls
            if pull.state is PullRequestState.OPEN and pull.base in tips and pull.branch in tips
        }
        self._merges = {
            pair: self._merges[pair] if pair in self._merges else self._repository.merges(*pair)
            for pair in pairs.values()
        }
        return {branch for branch, pair in pairs.items() if not self._merges[pair]}

    async def remote(self) -> Remote:
        await to_thread(self._repository.refresh)
        return Remote(str(self._repository.bare), here=True)

    async def ensure_draft(self, branch: str, *, base: str, title: str, body: str) -> None:
        head = await to_thread(self._repository.tip, branch)
        if not head:
            raise NeedsHuman(f"There is no branch {branch} to offer.")
        onto = base or await to_thread(self._repository.base)
        number = self._pulls.ensure_draft(branch, base=onto, title=title, body=body, head=head)
        await to_thread(self._repository.keep, number, head)

    async def ensure_comment(self, branch: str, *, slug: str, text: str, thread: str = "") -> None:
        self._pulls.ensure_comment(branch, slug=slug, text=text, thread=thread)

    async def ensure_reaction(self, branch: str, comment: str, reaction: Reaction) -> None:
        self._pulls.ensure_reaction(branch, comment=comment, reaction=reaction)

    async def remove_branch(self, branch: str) -> None:
        head = await to_thread(self._repository.tip, branch)
        if head:
            self._pulls.ensure_closed(branch, head)
            await to_thread(self._repository.remove, branch)
