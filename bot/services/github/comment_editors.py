"""Last editors of comments, reviews and inline comments, which REST does not tell: one query per hundred."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bot.errors import RateLimited, Retryable
from bot.services.github.cache import Row
from bot.services.github.errors import NoGraphQL
from bot.services.github.graphql_queries import EDITORS
from bot.services.github.parse import NOBODY, is_same_text, parse_actor
from bot.services.github.repository_api import RepositoryApi

_PER_QUERY = 100
_log = logging.getLogger(__name__)


class CommentEditors:
    def __init__(self, api: RepositoryApi) -> None:
        self._api = api

    async def read(self, rows: Sequence[Row]) -> Mapping[str, Row]:
        """Keyed by node: the last editor, or the author of a text that was never edited.

        A comment is missing if GitHub does not tell who wrote the text that we have read: it may know another one yet.
        """
        found: dict[str, Row] = {}
        for start in range(0, len(rows), _PER_QUERY):
            some = rows[start : start + _PER_QUERY]
            try:
                nodes = (await self._api.graphql(EDITORS, {"ids": [row["node"] for row in some]}))["nodes"]
            except NoGraphQL:
                found |= {row["node"]: _by_time(row) for row in some}
            except RateLimited:
                raise
            except Retryable as problem:
                _log.info("editors unknown repository=%s: %s", self._api.name, problem)
            else:
                pairs = zip(some, nodes, strict=True)
                found |= {row["node"]: _editor(node, row) for row, node in pairs if node and _is_about(node, row)}
        return found


def _is_about(node: Mapping[str, Any], row: Row) -> bool:
    return is_same_text(node.get("body") or "", row["body"])


def _editor(node: Mapping[str, Any], row: Row) -> Row:
    return parse_actor(node.get("editor")) if node.get("editor") or node.get("lastEditedAt") else row["author"]


def _by_time(row: Row) -> Row:
    """Without GraphQL a change after the first second is known, and its author is not. Reviews have no such time."""
    return NOBODY if row.get("updated", row["created"]) > row["created"] else row["author"]
