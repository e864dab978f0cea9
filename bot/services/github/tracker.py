"""Tracker on GitHub: issues, their comments and labels."""

from collections.abc import Collection, Sequence

from bot.domain.reaction import Reaction
from bot.errors import NeedsHuman
from bot.ports import Poll, TrackerView
from bot.services.github.parse import expected_shapes
from bot.services.github.repository import GitHubRepository
from bot.services.interface import with_author


class GitHubTracker:
    def __init__(self, repository: GitHubRepository) -> None:
        self._repository = repository

    async def snapshot(self, keys: Collection[str], *, poll: Poll | None = None) -> TrackerView:
        return TrackerView(*await self._repository.snapshot_issues(keys, poll or Poll()))

    async def judge_again(self, key: str, comments: Collection[str], *, request: bool) -> TrackerView:
        return TrackerView(*await self._repository.judge_issue_again(self._number(key), comments, request=request))

    async def changed(self) -> bool:
        return False

    async def ensure_comment(
        self,
        key: str,
        *,
        slug: str,
        text: str,
        note: str = "",
        thread: str = "",  # noqa: ARG002 - issues have no threads
    ) -> None:
        await self._repository.ensure_info()
        with expected_shapes():
            await self._repository.comment_writer.ensure(self._number(key), slug=slug, text=text, note=note)

    async def find_orphaned(self, labels: Collection[str]) -> Collection[str]:
        await self._repository.ensure_info()
        with expected_shapes():
            return [self._repository.api.key(number) for number in await self._repository.issues.find_orphaned(labels)]

    async def read_run_notes(self, key: str) -> Sequence[str]:
        await self._repository.ensure_info()
        return await self._repository.comment_writer.read_run_notes(self._number(key))

    async def comment_as(self, key: str, person: str, text: str) -> None:
        """Posts a comment marked as that person's."""
        await self._repository.ensure_info()
        await self._repository.comment_writer.post_for_operator(self._number(key), person, text)

    async def open_issue(self, title: str, body: str, labels: Sequence[str], *, by: str) -> str:
        """Returns the issue's key."""
        await self._repository.ensure_info()
        with expected_shapes():
            return self._repository.api.key(await self._repository.create_issue(title, with_author(body, by), labels))

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        await self._repository.ensure_info()
        with expected_shapes():
            await self._repository.labels.ensure(self._number(key), add, remove)

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        self._number(key)
        with expected_shapes():
            await self._repository.reactions.ensure(comment, reaction)

    def _number(self, key: str) -> int:
        number = self._repository.api.number(key)
        if not number:
            raise NeedsHuman(f"There is no issue {key} in {self._repository.api.name}.")
        return number
