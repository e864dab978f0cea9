"""Tracker in Linear: issues of a team, their comments, labels, states and links."""

from collections.abc import Collection, Sequence

from bot.domain.issue import IssueStage
from bot.domain.reaction import Reaction
from bot.ports import Poll, TrackerView
from bot.services.interface import with_author
from bot.services.linear.project_issues import ProjectIssues


class LinearTracker:
    def __init__(self, issues: ProjectIssues) -> None:
        self._issues = issues

    async def snapshot(self, keys: Collection[str], *, poll: Poll | None = None) -> TrackerView:
        return TrackerView(*await self._issues.snapshot(keys, poll or Poll()))

    async def judge_again(self, key: str, comments: Collection[str], *, request: bool) -> TrackerView:
        return TrackerView(*await self._issues.judge_again(key, comments, request=request))

    async def changed(self) -> bool:
        return False

    async def ensure_comment(self, key: str, *, slug: str, text: str, note: str = "", thread: str = "") -> None:
        row = await self._issues.row_of(key)
        await self._issues.comment_writer.ensure(row, slug=slug, text=text, note=note, thread=thread)

    async def find_orphaned(self, labels: Collection[str]) -> Collection[str]:
        return await self._issues.find_orphaned(labels)

    async def read_run_notes(self, key: str) -> Sequence[str]:
        return await self._issues.attachments.read_notes(await self._issues.row_of(key))

    async def comment_as(self, key: str, person: str, text: str) -> None:
        """Posts a comment marked as that person's."""
        await self._issues.comment_writer.post_for_operator(await self._issues.row_of(key), person, text)

    async def open_issue(self, title: str, body: str, labels: Sequence[str], *, by: str) -> str:
        """Returns the issue's key."""
        return await self._issues.create_issue(title, with_author(body, by), labels)

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        await self._issues.ensure_labels(key, add, remove)

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:  # noqa: ARG002 - ids are enough
        await self._issues.ensure_reaction(comment, reaction)

    async def ensure_stage(self, key: str, stage: IssueStage) -> None:
        await self._issues.ensure_stage(key, stage)

    async def ensure_link(self, key: str, *, url: str, title: str) -> None:
        await self._issues.ensure_link(key, url=url, title=title)
