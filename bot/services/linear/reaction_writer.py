"""Reacts to comments with an emoji, each once."""

from bot.domain.reaction import Reaction
from bot.services.linear import graphql_queries
from bot.services.linear.client import LeaseFence
from bot.services.linear.errors import NotFound, Refused, is_there_already
from bot.services.linear.team_sync import TeamSync


class ReactionWriter:
    def __init__(self, team: TeamSync, fence: LeaseFence) -> None:
        self._client, self._cache, self._fence = team.client, team.cache, fence

    async def ensure(self, comment: str, reaction: Reaction) -> None:
        """Raises Refused if Linear does not accept a reaction there."""
        if reaction in self._cache.reactions().get(comment, frozenset()):
            return
        try:
            entry = {"commentId": comment, "emoji": str(reaction)}
            await self._client.change(graphql_queries.CREATE_REACTION, fence=self._fence, input=entry)
        except NotFound:  # the author deleted the comment
            self._cache.forget_comment(comment)
            return
        except Refused as refusal:
            if not is_there_already(refusal):
                raise
        self._cache.keep_reaction(comment, str(reaction))
