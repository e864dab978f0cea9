"""Issues of the embedded tracker. Everybody there has the machine, so everybody may do everything."""

from collections.abc import Collection, Sequence

from bot.domain.comment import Reaction
from bot.errors import NeedsHuman
from bot.ports import TrackerView
from bot.services.local.input_rules import parsed_key
from bot.services.local.server import Desk


class LocalTracker:
    def __init__(self, desk: Desk, project: str, label: str) -> None:
        self._book = desk.book
        self._issues = desk.issues(project)
        self._project = project
        self._label = label
        self._seen = -1

    async def look(self, keys: Collection[str], *, fresh: bool = True) -> TrackerView:  # noqa: ARG002 - it is all here
        # Before reading: what changes in between is looked at twice rather than not at all.
        self._seen = self._book.version()
        ours = [parsed[1] for key in keys if (parsed := parsed_key(key)) and parsed[0] == self._project]
        issues, comments = self._issues.snapshot(self._label, ours)
        return TrackerView({issue.key: issue for issue in issues}, comments)

    async def changed(self) -> bool:
        return self._book.version() != self._seen

    async def ensure_comment(
        self,
        key: str,
        *,
        slug: str,
        text: str,
        note: str = "",
        thread: str = "",  # noqa: ARG002 - there are none
    ) -> None:
        self._issues.ensure_comment(self._number(key), slug=slug, text=text, note=note)

    async def find_left(self, labels: Collection[str]) -> Collection[str]:
        return self._issues.left(self._label, labels)

    async def recall(self, key: str) -> Sequence[str]:
        return self._issues.notes(self._number(key))

    async def ensure_labels(self, key: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        self._issues.ensure_labels(self._number(key), add=add, remove=remove)

    async def ensure_reaction(self, key: str, comment: str, reaction: Reaction) -> None:
        self._issues.ensure_reaction(self._number(key), comment=comment, reaction=reaction)

    def _number(self, key: str) -> int:
        parsed = parsed_key(key)
        if parsed is None or parsed[0] != self._project:
            raise NeedsHuman(f"There is no issue {key} in {self._project}.")
        return parsed[1]
