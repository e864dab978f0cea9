"""Our reactions to what people said. A courtesy: where one cannot be given, nothing is lost."""

import logging

from bot.domain.comment import Reaction
from bot.services.github.cache import Kind
from bot.services.github.errors import NoGraphQL, NotFound, Refused
from bot.services.github.graphql_queries import ADD_REACTION
from bot.services.github.repository_api import Access

_PLACES = {"issue": "issues", "inline": "pulls"}
_log = logging.getLogger(__name__)


class Reacting:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._notebook = access.notebook

    async def ensure(self, comment: str, reaction: Reaction) -> None:
        if reaction in self._notebook.reactions().get(comment, ()):
            return
        try:
            await self._give(comment, reaction)
        except (NotFound, Refused, NoGraphQL) as refusal:
            _log.info("no %s on %s of %s: %s", reaction, comment, self._access.name, refusal)
        else:
            self._notebook.keep_reaction(comment, reaction)

    async def _give(self, comment: str, reaction: Reaction) -> None:
        kind, _, number = comment.partition("-")
        if kind in _PLACES:
            path = f"/{_PLACES[kind]}/comments/{number}/reactions"
            await self._access.write("POST", path, {"content": str(reaction)})
        elif review := self._notebook.find(Kind.REVIEW, int(number)):
            variables = {"subject": review["node"], "content": reaction.upper()}
            await self._access.graphql(ADD_REACTION, variables)
