"""Reads the issues with our label, and those asked for by number: one list per poll, however many issues there are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bot.ports import Poll
from bot.services.github.cache import RecordKind, Row
from bot.services.github.errors import NotFound
from bot.services.github.parse import parse_issue
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.repository_info import RepositoryInfo

_ORPHANED_SECONDS = 30 * 86400.0
"""Issues closed longer ago are not searched for leftover labels."""


@dataclass(frozen=True, slots=True)
class ReadInPoll:
    """Numbers of the issues that the last poll has read."""

    poll: Poll | None = None
    listed: frozenset[int] = frozenset()
    alone: set[int] = field(default_factory=set)
    """Issues that were read one by one, as the list lacks them."""


class IssueList:
    def __init__(self, api: RepositoryApi, info: RepositoryInfo, label: str) -> None:
        self._api = api
        self._cache = api.cache
        self._info = info
        self._label = label
        self._read = ReadInPoll()

    async def refresh(self, numbers: Collection[int], poll: Poll) -> None:
        """Reads those of `numbers` that the list lacks one by one: closed, unlabelled, transferred or deleted."""
        if self._read.poll is not poll:
            self._read = ReadInPoll(poll, frozenset(await self._read_list()))
        listed = self._read.listed
        for number in sorted(set(numbers) - listed - self._read.alone):
            await self.read(number)
            self._read.alone.add(number)
        with self._cache.changing():
            for row in self._cache.all(RecordKind.ISSUE):
                if row["number"] not in listed and row["number"] not in numbers:
                    self._cache.forget(RecordKind.ISSUE, row["number"])

    async def find_orphaned(self, labels: Collection[str]) -> list[int]:
        """Issues closed lately with the label, or open with one of `labels` and without it."""
        numbers = await self._recently_closed()
        for label in sorted(labels):
            params = {"labels": label, "state": "open", "sort": "updated", "direction": "desc"}
            rows = [parse_issue(item) for item in (await self._api.get("/issues", params)).data]
            numbers += [row["number"] for row in rows if not self.is_wanted(row)]
        return numbers

    async def read(self, number: int) -> Row | None:
        before = self._cache.find(RecordKind.ISSUE, number)
        try:
            answer = await self._api.get(f"/issues/{number}")
        except NotFound:
            self._cache.forget(RecordKind.ISSUE, number)
            return None
        row = parse_issue(answer.data)
        if "pull_request" in answer.data or row["number"] != number or not await self._is_here(row):
            self._cache.forget(RecordKind.ISSUE, number)
            return None
        known = self._cache.find(RecordKind.ISSUE, number)
        if _was_patched_since(before, known):
            return known
        self._keep(row)
        return row

    async def create(self, title: str, body: str, labels: Sequence[str]) -> int:
        """Returns its number."""
        answer = await self._api.write("POST", "/issues", {"title": title, "body": body, "labels": labels})
        return int(answer.data["number"])

    def known(self, numbers: Collection[int]) -> list[Row]:
        """Open issues with the label, and those of `numbers`."""
        rows = self._cache.all(RecordKind.ISSUE)
        return [row for row in rows if row["number"] in numbers or self.is_wanted(row)]

    def is_wanted(self, row: Row) -> bool:
        return bool(row["open"]) and self._label.lower() in {label.lower() for label in row["labels"]}

    def as_we_write(self, label: str) -> str:
        """A label of ours in the case of the settings: GitHub ignores case in labels."""
        ours, _, rest = label.lower().partition(":")
        if ours != self._label.lower():
            return label
        return f"{self._label}:{rest}" if rest else self._label

    def patch_labels(self, number: int, labels: Collection[str], *, at: str = "") -> None:
        """Applies a change of ours before any list shows it; `at`: its time by the server's clock, if told."""
        if row := self._cache.find(RecordKind.ISSUE, number):
            self._keep({**row, "labels": sorted(labels), "patched": True, "written": at})

    async def _recently_closed(self) -> list[int]:
        since = datetime.fromtimestamp(self._api.client.now() - _ORPHANED_SECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        params = {"labels": self._label, "state": "closed", "sort": "updated", "direction": "desc", "since": since}
        answer = await self._api.get("/issues", params)
        return [item["number"] for item in answer.data if "pull_request" not in item]

    async def _read_list(self) -> set[int]:
        params = {"labels": self._label, "state": "open", "sort": "updated", "direction": "desc"}
        before = self._known_by_number()
        rows = [
            parse_issue(item)
            async for page in self._api.pages("/issues", params)
            for item in page.data
            if "pull_request" not in item
        ]
        known = self._known_by_number()
        uncertain = [
            row
            for row in rows
            if _may_be_older(row, known.get(row["number"]))
            or _was_patched_since(before.get(row["number"]), known.get(row["number"]))
        ]
        with self._cache.changing():
            for row in rows:
                if row not in uncertain:
                    self._keep(row)
        for row in uncertain:
            await self.read(row["number"])
        return {row["number"] for row in rows if self.is_wanted(row)}

    def _known_by_number(self) -> dict[int, Row]:
        return {row["number"]: row for row in self._cache.all(RecordKind.ISSUE)}

    async def _is_here(self, row: Row) -> bool:
        """False after a transfer. After a renaming of the repository, every issue shows the new name."""
        if not row["home"] or row["home"].lower() == self._api.address.lower():
            return True
        await self._info.refresh()
        return bool(row["home"].lower() == self._api.address.lower())

    def _keep(self, row: Row) -> None:
        self._cache.keep(RecordKind.ISSUE, row, record=row["number"], number=row["number"], updated=row["updated"])


def _may_be_older(row: Row, known: Row | None) -> bool:
    """A list may show the state before our own change; times are integer seconds, so also within its second."""
    if known is None or not known.get("patched"):
        return False
    return bool(row["updated"] == known["updated"] or row["updated"] < known.get("written", ""))


def _was_patched_since(before: Row | None, known: Row | None) -> bool:
    """Returns True if we changed the issue while it was read: the answer may show the state before that."""
    return known is not None and bool(known.get("patched")) and known != before
