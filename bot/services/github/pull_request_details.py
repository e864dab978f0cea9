"""Which of our open pull requests need a closer look: one question for a hundred of them, and then only those."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.errors import RateLimited, Retryable
from bot.services.github.cache import Kind, Row
from bot.services.github.graphql_queries import PULL_REQUESTS
from bot.services.github.parse import parse_review
from bot.services.github.repository_api import Access

_AT_ONCE = 100
_MERGEABLE = {"MERGEABLE": True, "CONFLICTING": False, True: True, False: False}


class Reviewing:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._notebook = access.notebook

    async def refresh(self, pulls: Sequence[Row]) -> Mapping[int, Row]:
        """What a glance at each shows; their reviews are read where there are new ones."""
        glances: dict[int, Row] = {}
        for start in range(0, len(pulls), _AT_ONCE):
            glances |= await self._glances(pulls[start : start + _AT_ONCE])
        with self._notebook.changing():
            for number, glance in glances.items():
                self._notebook.keep(Kind.GLANCE, self._with_known_merge(glance), one=number, number=number)
        for number, glance in glances.items():
            await self._read_reviews(number, glance["reviews"])
        return glances

    async def _glances(self, pulls: Sequence[Row]) -> Mapping[int, Row]:
        try:
            answer = await self._access.graphql(PULL_REQUESTS, {"ids": [pull["node"] for pull in pulls]})
        except RateLimited:
            raise
        except Retryable:  # nor when it cannot answer right now: a hundred may be too much for it
            found = {}
        else:
            found = {node["number"]: _parse(node) for node in answer["nodes"] if node}
        return {pull["number"]: found.get(pull["number"]) or await self._look_closely(pull) for pull in pulls}

    async def _look_closely(self, pull: Row) -> Row:
        answer = await self._access.get(f"/pulls/{pull['number']}")
        return {
            "number": pull["number"],
            "open": answer.data["state"] == "open",
            "mergeable": _MERGEABLE.get(answer.data.get("mergeable")),
            "head": answer.data["head"]["sha"],
            "onto": answer.data["base"]["sha"],
            "rollup": None,
            "reviews": None,
        }

    def _with_known_merge(self, glance: Row) -> Row:
        """It is worked out in the background, and unknown meanwhile."""
        known = self._notebook.find(Kind.GLANCE, glance["number"])
        if glance["mergeable"] is None and known and (known["head"], known["onto"]) == (glance["head"], glance["onto"]):
            return {**glance, "mergeable": known["mergeable"]}
        return glance

    async def _read_reviews(self, number: int, signature: Sequence[Any] | None) -> None:
        """`signature`: how many there are, and which is the newest; None: nobody could tell."""
        cursor = f"reviews/{number}"
        if signature is not None and (not signature[0] or self._notebook.cursor(cursor) == str(signature)):
            return
        pages = [page async for page in self._access.pages(f"/pulls/{number}/reviews")]
        rows = [parse_review(item, number) for page in pages for item in page.data]
        with self._notebook.changing():
            self._forget_others(number, {row["id"] for row in rows})
            for row in rows:
                self._notebook.keep(Kind.REVIEW, row, one=row["id"], number=number)
            if signature is not None and len(rows) >= signature[0]:  # else the list lags: look again
                self._notebook.advance(cursor, str(signature))

    def _forget_others(self, number: int, ids: Collection[int]) -> None:
        for row in self._notebook.under(Kind.REVIEW, [number]):
            if row["id"] not in ids:
                self._notebook.forget(Kind.REVIEW, row["id"])


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
