"""Issues of a team in Linear."""

from collections.abc import Collection, Sequence

from bot.domain.comment import Reaction
from bot.domain.issue import Stage
from bot.ports import TrackerView
from bot.services.linear.project_issues import Scope


class LinearTracker:
    """And its board: issues there have states, and links."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def look(self, keys: Collection[str], *, fresh: bool = True) -> TrackerView:
        return TrackerView(*await self._scope.look(keys, fresh=fresh))

    async def changed(self) -> bool:
        return False

    async def ensure_comment(self, key: str, *, slug: str, text: str, note: str = "", thread: str = "") -> None:
        row = await self._scope.row_of(key)
        await self._scope.saying.ensure(row, slug=slug, text=text, note=note, thread=thread)

    async def find_left(self, labels: Collection[str]) -> Collection[str]:
        return await self._scope.find_left(labels)

    async def recall(self, key: str) -> Sequence[str]:
        return await self._scope.saying.recall(await self._scope.row_of(key))

    async def speak_for(self, key: str, person: str, text: str) -> None:
        """In the name of whoever uses the command line here."""
        await self._scope.saying.speak_for(await self._scope.row_of(key), person, text)

    async def file(self, title: str, body: str, labels: Sequence[str]) -> str:
        """The key of the issue it became."""
        return await self._scope.file(title, body, labels)

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        await self._scope.ensure_labels(key, add, remove)

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        await self._scope.ensure_reaction(comment, reaction, key)

    async def ensure_stage(self, key: str, stage: Stage) -> None:
        await self._scope.ensure_stage(key, stage)

    async def ensure_link(self, key: str, *, url: str, title: str) -> None:
        await self._scope.ensure_link(key, url=url, title=title)
