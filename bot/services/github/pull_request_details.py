"""Reads mergeability, check state and reviews of our open pull requests: one query per hundred."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.errors import RateLimited, Retryable
from bot.services.github.cache import RecordKind, Row
from bot.services.github.graphql_queries import PULL_REQUESTS
from bot.services.github.parse import parse_review
from bot.services.github.repository_api import RepositoryApi

_PER_QUERY = 100
_MERGEABLE = {"MERGEABLE": True, "CONFLICTING": False, True: True, False: False}


class PullRequestDetails:
    def __init__(self, api: RepositoryApi) -> None:
        self._api = api
        self._cache = api.cache

    async def refresh(self, pulls: Sequence[Row]) -> Mapping[int, Row]:
        """Returns details by number. Reviews are read only of pull requests with new ones."""
        details_by_number: dict[int, Row] = {}
        for start in range(0, len(pulls), _PER_QUERY):
            details_by_number |= await self._query(pulls[start : start + _PER_QUERY])
        with self._cache.changing():
            for number, details in details_by_number.items():
                self._cache.keep(RecordKind.DETAILS, self._with_known_merge(details), record=number, number=number)
        for number, details in details_by_number.items():
            await self._read_reviews(number, details["reviews"])
        return details_by_number

    async def _query(self, pulls: Sequence[Row]) -> Mapping[int, Row]:
        try:
            answer = await self._api.graphql(PULL_REQUESTS, {"ids": [pull["node"] for pull in pulls]})
        except RateLimited:
            raise
        except Retryable:  # a hundred at once may be too many for the server
            found = {}
        else:
            found = {node["number"]: _parse(node) for node in answer["nodes"] if node}
        return {pull["number"]: found.get(pull["number"]) or await self._read(pull) for pull in pulls}

    async def _read(self, pull: Row) -> Row:
        answer = await self._api.get(f"/pulls/{pull['number']}")
        return {
            "number": pull["number"],
            "open": answer.data["state"] == "open",
            "mergeable": _MERGEABLE.get(answer.data.get("mergeable")),
            "head": answer.data["head"]["sha"],
            "onto": answer.data["base"]["sha"],
            "rollup": None,
            "reviews": None,
        }

    def _with_known_merge(self, details: Row) -> Row:
        """GitHub computes mergeability in the background: meanwhile the last known one of the same commits counts."""
        known = self._cache.find(RecordKind.DETAILS, details["number"])
        if (
            details["mergeable"] is None
            and known
            and (known["head"], known["onto"]) == (details["head"], details["onto"])
        ):
            return {**details, "mergeable": known["mergeable"]}
        return details

    async def _read_reviews(self, number: int, signature: Sequence[Any] | None) -> None:
        """`signature`: count and newest of the reviews; None if the server does not give it."""
        cursor = f"reviews/{number}"
        if signature is not None and (not signature[0] or self._cache.cursor(cursor) == str(signature)):
            return
        pages = [page async for page in self._api.pages(f"/pulls/{number}/reviews")]
        rows = [parse_review(item, number) for page in pages for item in page.data]
        with self._cache.changing():
            self._forget_deleted(number, {row["id"] for row in rows})
            for row in rows:
                self._cache.keep(RecordKind.REVIEW, row, record=row["id"], number=number)
            if signature is not None and len(rows) >= signature[0]:  # otherwise the list lags behind and is read again
                self._cache.advance(cursor, str(signature))

    def _forget_deleted(self, number: int, ids: Collection[int]) -> None:
        for row in self._cache.under(RecordKind.REVIEW, [number]):
            if row["id"] not in ids:
                self._cache.forget(RecordKind.REVIEW, row["id"])


def _parse(node: Mapping[str, Any]) -> Row:
    reviews = node.get("reviews") or {"totalCount": 0, "nodes": []}
    newest: Mapping[str, Any] = next((review for review in reviews["nodes"] or () if review), {})
    return {
        "number": node["number"],
        "open": node.get("state") == "OPEN",
        "mergeable": _MERGEABLE.get(node.get("mergeable")),
        "head": node.get("headRefOid") or "",
        "onto": node.get("baseRefOid") or "",
        "rollup": (node.get("statusCheckRollup") or {}).get("state") or "",
        "reviews": [reviews["totalCount"], newest.get("databaseId"), newest.get("updatedAt")],
    }
