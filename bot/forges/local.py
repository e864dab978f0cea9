"""Pull requests of the embedded forge: our branches are in its bare repository, and nowhere in the person's own."""

from asyncio import to_thread
from collections.abc import Collection

from bot.domain.comment import Reaction
from bot.embedded.desk import Desk
from bot.errors import NeedsHuman
from bot.ports import ForgeView, Remote


class LocalForge:
    """Git runs in threads; the database belongs to the thread of the loop."""

    def __init__(self, desk: Desk, project: str) -> None:
        self._pulls = desk.pulls(project)
        self._repository = self._pulls.repository

    async def look(self, branches: Collection[str], *, fresh: bool = True) -> ForgeView:  # noqa: ARG002 - it is all here
        tips = await to_thread(self._repository.tips)
        pulls, comments = self._pulls.snapshot(branches, tips)
        return ForgeView(pulls, comments, frozenset(tips))

    async def remote(self) -> Remote:
        await to_thread(self._repository.refresh)
        return Remote(str(self._repository.bare))

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
