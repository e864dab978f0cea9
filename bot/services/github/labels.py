"""Labels of the repository: creates missing ones, adds them to issues and removes them."""

import asyncio
from collections.abc import Collection, Sequence
from urllib.parse import quote

from bot.errors import NeedsHuman
from bot.services.github.cache import RecordKind, Row
from bot.services.github.errors import NotFound, Refused
from bot.services.github.issues import IssueList
from bot.services.github.parse import parse_labels
from bot.services.github.repository_api import RepositoryApi

_COLOUR = "5319e7"
_EXISTS = 422


class RepositoryLabels:
    def __init__(self, api: RepositoryApi, issues: IssueList) -> None:
        self._api = api
        self._cache = api.cache
        self._issues = issues
        self._names: set[str] | None = None
        self._creating = asyncio.Lock()

    async def ensure(self, number: int, add: Collection[str], remove: Collection[str]) -> None:
        row = self._cache.find(RecordKind.ISSUE, number) or await self._issues.read(number)
        if row is None:
            raise NeedsHuman(f"The issue {self._api.key(number)} no longer exists.")
        try:
            # the label that requests work goes last: while it is there, a restart finishes the rest
            await self._change(number, row, sorted(add), sorted(remove, reverse=True))
        except NotFound as gone:
            raise NeedsHuman(f"The issue {self._api.key(number)} no longer exists: {gone}") from gone

    async def missing(self, wanted: Sequence[str]) -> list[str]:
        existing = {label.lower() for label in await self._read_names()}
        return [label for label in wanted if label.lower() not in existing]

    async def ensure_exist(self, labels: Sequence[str]) -> None:
        """Creates missing labels; existing ones keep their colour and description."""
        async with self._creating:
            for label in await self.missing(labels):
                body = {"name": label, "color": _COLOUR, "description": "treehand"}
                try:
                    await self._api.write("POST", "/labels", body)
                except Refused as refusal:
                    if refusal.status != _EXISTS:
                        raise
                (await self._read_names()).add(label)

    async def _change(self, number: int, row: Row, add: list[str], remove: list[str]) -> None:
        labels = {label.lower() for label in row["labels"]}
        if missing := [label for label in add if label.lower() not in labels]:
            await self.ensure_exist(missing)
            answer = await self._api.write("POST", f"/issues/{number}/labels", {"labels": missing})
            self._issues.patch_labels(number, parse_labels(answer.data))
        for label in remove:
            if label.lower() in labels:
                await self._remove(number, label)

    async def _remove(self, number: int, label: str) -> None:
        try:
            answer = await self._api.write("DELETE", f"/issues/{number}/labels/{quote(label, safe='')}")
            self._issues.patch_labels(number, parse_labels(answer.data))
        except NotFound:
            if await self._issues.read(number) is None:
                raise

    async def _read_names(self) -> set[str]:
        if self._names is None:
            pages = [page async for page in self._api.pages("/labels")]
            self._names = {str(label["name"]) for page in pages for label in page.data}
        return self._names
