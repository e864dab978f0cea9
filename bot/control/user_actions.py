"""Actions of people on the dashboard and the command line: comment, label, open an issue, merge a pull request.

Rule: there is no private lever. Each action is one that anybody could do on the tracker, and it counts the same.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.control.issue_keys import find_project, parse_key
from bot.domain.comment import Remark
from bot.domain.issue import NewIssue
from bot.errors import NeedsHuman
from bot.services.local.connect import open_local_server
from bot.services.local.input_rules import check_comment, check_label, check_text, check_title
from bot.services.local.merge_git import MergeStyle
from bot.services.local.pull_requests import ReviewVerdict
from bot.services.local.server import LocalServer
from bot.services.registry import is_kept_here, tracker_of
from bot.settings.load import operator
from bot.settings.schema import Settings

_T = TypeVar("_T")


async def comment_as(settings: Settings, key: str, text: str, *, by: str) -> None:
    """Post a comment marked as this person's."""
    project, key = parse_key(settings, key)
    text = check_comment(text)
    async with tracker_of(project).open_for_person(settings, project) as tracker:
        await tracker.comment_as(key, by, text)


@dataclass(frozen=True, slots=True)
class UserActionService:
    """The port `UserActions` of the dashboard."""

    settings: Settings
    on_change: Callable[[Sequence[str]], None]
    """Called with the names of the projects that an action has changed."""

    async def comment(self, key: str, text: str, *, by: str) -> None:
        await comment_as(self.settings, key, text, by=by)
        self.on_change([parse_key(self.settings, key)[0].name])

    async def command(self, key: str, words: str, *, by: str) -> None:
        await self.comment(key, f"/{self.settings.label} {words}", by=by)

    async def file_issue(self, issue: NewIssue, *, by: str) -> str:
        project = find_project(self.settings, issue.project)
        title, body, labels = check_title(issue.title), check_text(issue.body), [*map(check_label, issue.labels)]
        async with tracker_of(project).open_for_person(self.settings, project) as tracker:
            key = await tracker.open_issue(title, body, labels, by=by)
        self.on_change([project.name])
        return key

    # Only for projects that are kept here: others have the pages of their service.

    async def merge(self, key: str, *, squash: bool = False, by: str) -> str:
        style = MergeStyle.SQUASH if squash else MergeStyle.MERGE
        own = by == operator()
        merged = await self._on_pull_request(
            key,
            lambda server, project, number: server.merger(project).merge(number, by=by, is_operator=own, style=style),
        )
        return str(merged)

    async def ready(self, key: str, *, by: str) -> None:
        await self._on_pull_request(
            key, lambda server, project, number: server.pull_requests(project).mark_ready(number, by=by)
        )

    async def close(self, key: str, *, by: str) -> None:
        await self._on_pull_request(
            key, lambda server, project, number: server.pull_requests(project).close(number, by=by)
        )

    async def review(self, key: str, text: str, *, verdict: str, remarks: Sequence[Remark], by: str) -> None:
        parsed = ReviewVerdict(verdict)
        await self._on_pull_request(
            key,
            lambda server, project, number: server.pull_requests(project).review(
                number, text, by=by, verdict=parsed, remarks=remarks
            ),
        )

    async def _on_pull_request(self, key: str, act: Callable[[LocalServer, str, int], _T]) -> _T:
        """Call `act` with the number of the issue's pull request, in a thread that opens the database itself."""
        project, key = parse_key(self.settings, key)
        if not is_kept_here(project):
            raise NeedsHuman(f"The pull requests of {project.name} are not on the local forge.")

        def run() -> _T:
            server = open_local_server(self.settings)
            try:
                return act(server, project.name, server.parse_key(key)[1])
            finally:
                server.close()

        done = await asyncio.to_thread(run)
        self.on_change([project.name])
        return done
