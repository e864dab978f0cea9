"""Reacts to comments with an emoji, each once."""

from contextlib import suppress

from bot.domain.reaction import Reaction
from bot.services.github.cache import RecordKind
from bot.services.github.errors import NoGraphQL, NotFound
from bot.services.github.graphql_queries import ADD_REACTION
from bot.services.github.repository_api import RepositoryApi

_PATHS = {"issue": "issues", "inline": "pulls"}


class ReactionWriter:
    def __init__(self, api: RepositoryApi) -> None:
        self._api = api
        self._cache = api.cache

    async def ensure(self, comment: str, reaction: Reaction) -> None:
        if reaction in self._cache.reactions().get(comment, ()):
            return
        with suppress(NotFound, NoGraphQL):  # the comment was deleted, or the server lacks reactions to such comments
            await self._add(comment, reaction)
            self._cache.keep_reaction(comment, reaction)

    async def _add(self, comment: str, reaction: Reaction) -> None:
        kind, _, number = comment.partition("-")
        if kind in _PATHS:
            path = f"/{_PATHS[kind]}/comments/{number}/reactions"
            await self._api.write("POST", path, {"content": str(reaction)})
        elif remark := self._only_visible_part(int(number)):
            await self._api.write("POST", f"/pulls/comments/{remark}/reactions", {"content": str(reaction)})
        elif review := self._cache.find(RecordKind.REVIEW, int(number)):
            variables = {"subject": review["node"], "content": reaction.upper()}
            await self._api.graphql(ADD_REACTION, variables)

    def _only_visible_part(self, number: int) -> int:
        """Id of the first remark of a review without words of its own: GitHub shows nothing else of it."""
        review = self._cache.find(RecordKind.REVIEW, number)
        if review is None or review["body"]:
            return 0
        remarks = self._cache.under(RecordKind.REMARK, [review["number"]])
        return next((remark["id"] for remark in remarks if remark["review"] == number), 0)
