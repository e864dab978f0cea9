"""What people say and order, here or in a terminal: comments, labels and issues where the work is asked for.

Rule: there is no private lever. What is done here anybody could have done on the tracker, and it counts the same.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.app import desk_of, tracker_on_service
from bot.control.issue_keys import parse_key, project_of
from bot.domain.comment import Remark
from bot.domain.wish import Wish
from bot.errors import NeedsHuman
from bot.services.local.input_rules import checked_comment, checked_label, checked_text, checked_title
from bot.services.local.merge_git import Style
from bot.services.local.pull_requests import Verdict
from bot.services.local.server import Desk
from bot.settings import Settings
from bot.text.quote_untrusted import code

_T = TypeVar("_T")


async def speak(settings: Settings, key: str, text: str, *, by: str) -> None:
    """As a comment, marked as this person's."""
    project, key = parse_key(settings, key)
    if project.tracker != "local":
        async with tracker_on_service(settings, project) as tracker:
            await tracker.speak_for(key, by, checked_comment(text))
        return
    await _at_desk(settings, lambda desk: desk.issues(project.name).comment(desk.parse_key(key)[1], text, by=by))


async def _at_desk(settings: Settings, act: Callable[[Desk], _T]) -> _T:
    """In a thread, which has to have a desk of its own."""

    def there() -> _T:
        desk = desk_of(settings)
        try:
            return act(desk)
        finally:
            desk.close()

    return await asyncio.to_thread(there)


@dataclass(frozen=True, slots=True)
class Speaking:
    """The `Voice` of whoever uses the dashboard."""

    settings: Settings
    heard: Callable[[Sequence[str]], None]
    """Called with the projects where something was said: they are to be looked at."""

    async def say(self, key: str, text: str, *, by: str) -> None:
        await speak(self.settings, key, text, by=by)
        self._tell(key)

    async def order(self, key: str, words: str, *, by: str) -> None:
        await self.say(key, f"/{self.settings.label} {words}", by=by)

    async def ask(self, wish: Wish, *, by: str) -> str:
        project = project_of(self.settings, wish.project)
        title, body, labels = checked_title(wish.title), checked_text(wish.body), [*map(checked_label, wish.labels)]
        if project.tracker != "local":
            async with tracker_on_service(self.settings, project) as tracker:
                key = await tracker.file(title, f"{body}\n\nAsked for by {code(by)}.".strip(), labels)
            self.heard([project.name])
            return key
        issue = await _at_desk(
            self.settings,
            lambda desk: desk.issues(project.name).open(title, by=by, body=body, labels=labels),
        )
        self.heard([project.name])
        return issue.key

    def _tell(self, key: str) -> None:
        self.heard([parse_key(self.settings, key)[0].name])

    # For the embedded forge alone: others have pages of their own.

    async def merge(self, key: str, *, squash: bool = False, by: str) -> str:
        style = Style.SQUASH if squash else Style.MERGE
        merged = await self._on_pull(
            key, lambda desk, project, number: desk.merging(project).merge(number, by=by, style=style)
        )
        return str(merged)

    async def ready(self, key: str, *, by: str) -> None:
        await self._on_pull(key, lambda desk, project, number: desk.pulls(project).ready(number, by=by))

    async def close(self, key: str, *, by: str) -> None:
        await self._on_pull(key, lambda desk, project, number: desk.pulls(project).close(number, by=by))

    async def review(self, key: str, text: str, *, verdict: str, remarks: Sequence[Remark], by: str) -> None:
        meant = Verdict(verdict)
        await self._on_pull(
            key,
            lambda desk, project, number: desk.pulls(project).review(
                number, text, by=by, verdict=meant, remarks=remarks
            ),
        )

    async def _on_pull(self, key: str, act: Callable[[Desk, str, int], _T]) -> _T:
        """On the pull request of this issue."""
        project, key = parse_key(self.settings, key)
        if project.tracker != "local" or project.forge != "local":
            raise NeedsHuman(f"The pull requests of {project.name} are not kept here.")
        done = await _at_desk(self.settings, lambda desk: act(desk, project.name, desk.parse_key(key)[1]))
        self.heard([project.name])
        return done
