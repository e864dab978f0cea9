"""Reacts to comments with an emoji, each once. A refused reaction is logged; nothing depends on it."""

import logging

from bot.domain.reaction import Reaction
from bot.services.github.cache import RecordKind
from bot.services.github.errors import NoGraphQL, NotFound, Refused
from bot.services.github.graphql_queries import ADD_REACTION
from bot.services.github.repository_api import RepositoryApi

_PATHS = {"issue": "issues", "inline": "pulls"}
_log = logging.getLogger(__name__)


class ReactionWriter:
    def __init__(self, api: RepositoryApi) -> None:
        self._api = api
        self._cache = api.cache

    async def ensure(self, comment: str, reaction: Reaction) -> None:
        if reaction in self._cache.reactions().get(comment, ()):
            return
        try:
            await self._add(comment, reaction)
        except (NotFound, Refused, NoGraphQL) as refusal:
            _log.info(
                "reaction refused reaction=%s comment=%s repository=%s: %s", reaction, comment, self._api.name, refusal
            )
        else:
            self._cache.keep_reaction(comment, reaction)

    async def _add(self, comment: str, reaction: Reaction) -> None:
        kind, _, number = comment.partition("-")
        if kind in _PATHS:
            path = f"/{_PATHS[kind]}/comments/{number}/reactions"
            await self._api.write("POST", path, {"content": str(reaction)})
        elif review := self._cache.find(RecordKind.REVIEW, int(number)):
            variables = {"subject": review["node"], "content": reaction.upper()}
            await self._api.graphql(ADD_REACTION, variables)
