"""Reacts to comments with an emoji, each once, and to many in one request."""

from contextlib import suppress

from bot.domain.reaction import Reaction
from bot.services.github.cache import RecordKind
from bot.services.github.errors import NoGraphQL, NotFound
from bot.services.github.mutations import Mutation
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.write_queue import WriteRank

_PATHS = {"issue": "issues", "inline": "pulls"}
_KINDS = {"issue": RecordKind.COMMENT, "inline": RecordKind.REMARK, "review": RecordKind.REVIEW}


class ReactionWriter:
    def __init__(self, api: RepositoryApi) -> None:
        self._api = api
        self._cache = api.cache
        self._batch = api.batch(WriteRank.REACTION)

    async def ensure(self, comment: str, reaction: Reaction) -> None:
        if reaction in self._cache.reactions().get(comment, ()):
            return
        kind, _, number = comment.partition("-")
        if kind == "review" and (remark := self._only_visible_part(int(number))):
            kind, number = "inline", str(remark)
        with suppress(NotFound):  # the comment was deleted, or the server lacks reactions
            if await self._add_with_others(kind, int(number), reaction) or await self._add(kind, number, reaction):
                self._cache.keep_reaction(comment, reaction)

    async def _add_with_others(self, kind: str, number: int, reaction: Reaction) -> bool:
        """Returns False if it was not done. Raises NotFound if the comment is gone."""
        row = self._cache.find(_KINDS[kind], number) if kind in _KINDS else None
        if row is None or not row["node"]:
            return False
        given = {"subjectId": row["node"], "content": reaction.upper()}
        try:
            (result,) = await self._batch.send(Mutation("addReaction", given, "reaction { content }"))
        except NoGraphQL:
            return False
        if result.is_missing:
            raise NotFound(f"There is no comment {kind}-{number}.")
        return bool(result.payload)

    async def _add(self, kind: str, number: str, reaction: Reaction) -> bool:
        """Says why it is refused. REST cannot react to a review."""
        if kind not in _PATHS:
            return False
        path = f"/{_PATHS[kind]}/comments/{number}/reactions"
        answer = await self._api.write("POST", path, {"content": str(reaction)}, rank=WriteRank.REACTION)
        _ = answer.data["id"]  # an answer without it is none
        return True

    def _only_visible_part(self, number: int) -> int:
        """Id of the first remark of a review without words of its own: GitHub shows nothing else of it."""
        review = self._cache.find(RecordKind.REVIEW, number)
        if review is None or review["body"]:
            return 0
        remarks = self._cache.under(RecordKind.REMARK, [review["number"]])
        return next((remark["id"] for remark in remarks if remark["review"] == number), 0)
