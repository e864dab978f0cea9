"""Issues of a repository on GitHub."""

from collections.abc import Collection, Sequence

from bot.domain.comment import Reaction
from bot.errors import NeedsHuman
from bot.ports import TrackerView
from bot.services.github.parse import expected_shapes
from bot.services.github.repository import Repository


class GitHubTracker:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    async def look(self, keys: Collection[str], *, fresh: bool = True) -> TrackerView:
        return TrackerView(*await self._repository.look_at_issues(keys, fresh=fresh))

    async def changed(self) -> bool:
        return False

    async def ensure_comment(
        self,
        key: str,
        *,
        slug: str,
        text: str,
        note: str = "",
        thread: str = "",  # noqa: ARG002 - there are none
    ) -> None:
        await self._repository.ensure_known()
        await self._repository.saying.ensure(self._number(key), slug=slug, text=text, note=note)

    async def find_left(self, labels: Collection[str]) -> Collection[str]:
        await self._repository.ensure_known()
        with expected_shapes():
            return [self._repository.access.key(number) for number in await self._repository.issues.find_left(labels)]

    async def recall(self, key: str) -> Sequence[str]:
        await self._repository.ensure_known()
        return await self._repository.saying.recall(self._number(key))

    async def speak_for(self, key: str, person: str, text: str) -> None:
        """In the name of whoever uses the command line here."""
        await self._repository.ensure_known()
        await self._repository.saying.speak_for(self._number(key), person, text)

    async def file(self, title: str, body: str, labels: Sequence[str]) -> str:
        """The key of the issue it became."""
        await self._repository.ensure_known()
        with expected_shapes():
            return self._repository.access.key(await self._repository.issues.file(title, body, labels))

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        await self._repository.ensure_known()
        await self._repository.issues.ensure_labels(self._number(key), add, remove)

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        self._number(key)
        await self._repository.reacting.ensure(comment, reaction)

    def _number(self, key: str) -> int:
        number = self._repository.access.number(key)
        if not number:
            raise NeedsHuman(f"There is no issue {key} in {self._repository.name}.")
        return number
