"""The issues with our label, and those asked about: one list a look, whatever their number."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from bot.errors import NeedsHuman
from bot.services.github.cache import Kind, Row
from bot.services.github.errors import NotFound, Refused
from bot.services.github.parse import parse_issue, parse_labels
from bot.services.github.repository_api import Access
from bot.services.github.repository_info import Facts

_COLOUR = "5319e7"
_EXISTS = 422
_SECONDS_CLOSED = 30 * 86400.0
"""How long after its end somebody may still have to tidy up after an issue."""


class Issues:
    def __init__(self, access: Access, facts: Facts, label: str) -> None:
        self._access = access
        self._notebook = access.notebook
        self._facts = facts
        self._label = label
        self._known_labels: set[str] | None = None
        self._labelling = asyncio.Lock()

    async def refresh(self, numbers: Collection[int]) -> None:
        """Those of `numbers` that the list does not show are looked at alone: closed, unlabelled, moved or gone."""
        listed = await self._list()
        for number in sorted(set(numbers) - listed):
            await self.read(number)
        with self._notebook.changing():
            for row in self._notebook.all(Kind.ISSUE):
                if row["number"] not in listed and row["number"] not in numbers:
                    self._notebook.forget(Kind.ISSUE, row["number"])

    async def find_left(self, labels: Collection[str]) -> list[int]:
        """Closed lately with the label, or open with one of these and without it."""
        numbers = await self._closed_lately()
        for label in sorted(labels):
            params = {"labels": label, "state": "open", "sort": "updated", "direction": "desc"}
            rows = [parse_issue(item) for item in (await self._access.get("/issues", params)).data]
            numbers += [row["number"] for row in rows if not self.is_wanted(row)]
        return numbers

    async def _closed_lately(self) -> list[int]:
        since = datetime.fromtimestamp(self._access.service.now() - _SECONDS_CLOSED, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        params = {"labels": self._label, "state": "closed", "sort": "updated", "direction": "desc", "since": since}
        answer = await self._access.get("/issues", params)
        return [item["number"] for item in answer.data if "pull_request" not in item]

    async def read(self, number: int) -> Row | None:
        try:
            answer = await self._access.get(f"/issues/{number}")
        except NotFound:
            self._notebook.forget(Kind.ISSUE, number)
            return None
        row = parse_issue(answer.data)
        if "pull_request" in answer.data or row["number"] != number or not await self._is_here(row):
            self._notebook.forget(Kind.ISSUE, number)
            return None
        self._keep(row)
        return row

    def known(self, numbers: Collection[int]) -> list[Row]:
        """Open ones with the label, and those asked about."""
        rows = self._notebook.all(Kind.ISSUE)
        return [row for row in rows if row["number"] in numbers or self.is_wanted(row)]

    def is_wanted(self, row: Row) -> bool:
        return bool(row["open"]) and self._label.lower() in {label.lower() for label in row["labels"]}

    def as_we_write(self, label: str) -> str:
        """To GitHub, labels that differ in case only are the same."""
        ours, _, rest = label.lower().partition(":")
        if ours != self._label.lower():
            return label
        return f"{self._label}:{rest}" if rest else self._label

    async def ensure_labels(self, number: int, add: Collection[str], remove: Collection[str]) -> None:
        row = self._notebook.find(Kind.ISSUE, number) or await self.read(number)
        if row is None:
            raise NeedsHuman(f"There is no issue {self._access.key(number)} any more.")
        try:
            # what asks for work goes last: as long as it is there, somebody will look after the rest
            await self._change_labels(number, row, sorted(add), sorted(remove, reverse=True))
        except NotFound as gone:
            raise NeedsHuman(f"There is no issue {self._access.key(number)} any more: {gone}") from gone

    async def file(self, title: str, body: str, labels: Sequence[str]) -> int:
        """Its number."""
        names = [self.as_we_write(label) for label in labels]
        await self.ensure_known(names)
        answer = await self._access.write("POST", "/issues", {"title": title, "body": body, "labels": names})
        return int(answer.data["number"])

    async def missing_labels(self, wanted: Sequence[str]) -> list[str]:
        known = {label.lower() for label in await self._all_labels()}
        return [label for label in wanted if label.lower() not in known]

    async def ensure_known(self, labels: Sequence[str]) -> None:
        """Ours look alike; what exists is left as it is."""
        async with self._labelling:
            for label in await self.missing_labels(labels):
                body = {"name": label, "color": _COLOUR, "description": "treehand"}
                try:
                    await self._access.write("POST", "/labels", body)
                except Refused as refusal:
                    if refusal.status != _EXISTS:
                        raise
                (await self._all_labels()).add(label)

    async def _change_labels(self, number: int, row: Row, add: list[str], remove: list[str]) -> None:
        labels = {label.lower() for label in row["labels"]}
        if missing := [label for label in add if label.lower() not in labels]:
            await self.ensure_known(missing)
            answer = await self._access.write("POST", f"/issues/{number}/labels", {"labels": missing})
            self._patch(number, parse_labels(answer.data))
        for label in remove:
            if label.lower() in labels:
                await self._remove_label(number, label)

    async def _remove_label(self, number: int, label: str) -> None:
        try:
            answer = await self._access.write("DELETE", f"/issues/{number}/labels/{quote(label, safe='')}")
            self._patch(number, parse_labels(answer.data))
        except NotFound:
            if await self.read(number) is None:
                raise

    def _patch(self, number: int, labels: Collection[str]) -> None:
        """What our own writing changed, before any list shows it."""
        if row := self._notebook.find(Kind.ISSUE, number):
            self._keep({**row, "labels": sorted(labels), "patched": True})

    async def _list(self) -> set[int]:
        params = {"labels": self._label, "state": "open", "sort": "updated", "direction": "desc"}
        rows = [
            parse_issue(item)
            async for page in self._access.pages("/issues", params)
            for item in page.data
            if "pull_request" not in item
        ]
        known = {row["number"]: row for row in self._notebook.all(Kind.ISSUE)}
        doubtful = [row for row in rows if _may_be_older(row, known.get(row["number"]))]
        with self._notebook.changing():
            for row in rows:
                if row not in doubtful:
                    self._keep(row)
        for row in doubtful:
            await self.read(row["number"])
        return {row["number"] for row in rows if self.is_wanted(row)}

    async def _is_here(self, row: Row) -> bool:
        """Not transferred. When the whole repository was renamed, all of them tell another one."""
        if not row["home"] or row["home"].lower() == self._access.address.lower():
            return True
        await self._facts.refresh()
        return bool(row["home"].lower() == self._access.address.lower())

    async def _all_labels(self) -> set[str]:
        if self._known_labels is None:
            self._known_labels = {name async for page in self._access.pages("/labels") for name in _names(page.data)}
        return self._known_labels

    def _keep(self, row: Row) -> None:
        self._notebook.keep(Kind.ISSUE, row, one=row["number"], number=row["number"], updated=row["updated"])


def _may_be_older(row: Row, known: Row | None) -> bool:
    """Times are whole seconds: within one, a list may show what was before our own change."""
    return known is not None and bool(known.get("patched")) and known["updated"] == row["updated"]


def _names(data: Collection[Row]) -> list[str]:
    return [str(label["name"]) for label in data]
