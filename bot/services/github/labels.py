"""Labels of the repository: creates missing ones, and changes those of an issue in one request."""

import asyncio
from collections.abc import Collection, Sequence
from urllib.parse import quote

from bot.errors import NeedsHuman
from bot.services.github.cache import RecordKind, Row
from bot.services.github.errors import NoGraphQL, NotFound, Refused, not_there
from bot.services.github.issues import IssueList
from bot.services.github.mutations import Mutation
from bot.services.github.parse import parse_labels
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.write_queue import WriteRank

_COLOUR = "5319e7"
_EXISTS = 422
_ADD, _REMOVE = "addLabelsToLabelable", "removeLabelsFromLabelable"
_LABELS = "labelable { ... on Issue { updatedAt } labels(first: 100) { nodes { name } } }"


class RepositoryLabels:
    def __init__(self, api: RepositoryApi, issues: IssueList) -> None:
        self._api = api
        self._cache = api.cache
        self._issues = issues
        self._nodes: dict[str, str] | None = None
        """Ids for GraphQL by name in lower case; an id is empty on a server without GraphQL."""
        self._creating = asyncio.Lock()
        self._batch = api.batch(WriteRank.SIGN)

    async def ensure(self, number: int, add: Collection[str], remove: Collection[str]) -> None:
        row = self._cache.find(RecordKind.ISSUE, number) or await self._issues.read(number)
        if row is None:
            raise NeedsHuman(f"The issue {self._api.key(number)} no longer exists.")
        try:
            await self._change(number, row, sorted(add), sorted(remove, reverse=True))
        except NotFound as gone:
            raise NeedsHuman(not_there(self._api.key(number), gone)) from gone

    async def missing(self, wanted: Sequence[str]) -> list[str]:
        existing = await self._read_nodes()
        return [label for label in wanted if label.lower() not in existing]

    async def ensure_exist(self, labels: Sequence[str]) -> None:
        """Creates missing labels; existing ones keep their colour and description."""
        async with self._creating:
            for label in await self.missing(labels):
                body = {"name": label, "color": _COLOUR, "description": "treehand"}
                try:
                    node = (await self._api.write("POST", "/labels", body, rank=WriteRank.SIGN)).data.get("node_id")
                except Refused as refusal:
                    if refusal.status != _EXISTS:
                        raise
                    self._nodes = None  # somebody else has just made it
                    node = (await self._read_nodes()).get(label.lower())
                (await self._read_nodes())[label.lower()] = node or ""

    async def _change(self, number: int, row: Row, add: list[str], remove: list[str]) -> None:
        labels = {label.lower() for label in row["labels"]}
        missing = [label for label in add if label.lower() not in labels]
        extra = [label for label in remove if label.lower() in labels]
        if missing:
            await self.ensure_exist(missing)
        if (missing or extra) and not await self._change_at_once(row, missing, extra):
            await self._change_one_by_one(number, missing, extra)

    async def _change_at_once(self, row: Row, add: list[str], remove: list[str]) -> bool:
        """Changes everything in one request, so that nobody sees two phases, or none. False if not all was done."""
        nodes = await self._read_nodes()
        ids = {label: nodes.get(label.lower(), "") for label in (*add, *remove)}
        if not row["node"] or not all(ids.values()):
            return False
        changes = [(_ADD, add), (_REMOVE, remove)]
        mutations = [
            Mutation(name, {"labelableId": row["node"], "labelIds": [ids[label] for label in some]}, _LABELS)
            for name, some in changes
            if some
        ]
        try:
            results = await self._batch.send(*mutations)
        except NoGraphQL:
            return False
        labelables = [(result.payload or {}).get("labelable") or {} for result in results]
        if not all(labelables):
            self._nodes = None  # a label that people deleted and created again has another id
            return False
        last = labelables[-1]
        self._issues.patch_labels(row["number"], parse_labels(last["labels"]["nodes"]), at=last.get("updatedAt") or "")
        return True

    async def _change_one_by_one(self, number: int, add: list[str], remove: list[str]) -> None:
        """The label that requests work goes last: while it is there, a restart finishes the rest."""
        if add:
            answer = await self._api.write("POST", f"/issues/{number}/labels", {"labels": add}, rank=WriteRank.SIGN)
            self._issues.patch_labels(number, parse_labels(answer.data))
        for label in remove:
            await self._remove(number, label)

    async def _remove(self, number: int, label: str) -> None:
        path = f"/issues/{number}/labels/{quote(label, safe='')}"
        try:
            answer = await self._api.write("DELETE", path, rank=WriteRank.SIGN)
            self._issues.patch_labels(number, parse_labels(answer.data))
        except NotFound:
            row = await self._issues.read(number)
            if row is None or label.lower() in {one.lower() for one in row["labels"]}:
                raise

    async def _read_nodes(self) -> dict[str, str]:
        if self._nodes is None:
            pages = [page async for page in self._api.pages("/labels")]
            self._nodes = {
                str(label["name"]).lower(): str(label.get("node_id") or "") for page in pages for label in page.data
            }
        return self._nodes
