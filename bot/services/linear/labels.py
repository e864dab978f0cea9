"""Labels of a team by name: finds their ids and creates missing ones."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence

from bot.errors import Retryable
from bot.services.linear import graphql_queries
from bot.services.linear.cache import Row
from bot.services.linear.client import LeaseFence
from bot.services.linear.errors import Refused, is_there_already
from bot.services.linear.parse import expected_shapes, label_names
from bot.services.linear.team_sync import TeamSync

_CURSOR = "labels"
_COLOUR = "#5E6AD2"


class TeamLabels:
    def __init__(self, team: TeamSync, fence: LeaseFence) -> None:
        self._team, self._client, self._cache, self._fence = team, team.client, team.cache, fence
        self._creating = asyncio.Lock()

    async def ids_of(self, names: Collection[str], team: str) -> Sequence[str]:
        """Creates those that the team, named by its id, does not have: an issue takes no label of another team."""
        async with self._creating:  # concurrent callers wait, and find the labels in the cache
            known = self._known(team)
            if any(name.lower() not in known for name in names):
                known = {**known, **await self.find(names, team)}
            for name in names:
                if name.lower() not in known:
                    known = {**known, name.lower(): await self._create(name, team)}
            self._keep(known, team)
        return [known[name.lower()] for name in names]

    async def find(self, names: Collection[str], team: str) -> Mapping[str, str]:
        """Ids of existing labels by name in lower case; a label in a group also has the name `group:name`."""
        wanted = {part.lower() for name in names for part in (name, name.partition(":")[2]) if part}
        which = {
            "and": [
                {"or": [{"name": {"eqIgnoreCase": name}} for name in sorted(wanted)]},
                {"or": [{"team": {"id": {"eq": team}}}, {"team": {"null": True}}]},
            ]
        }
        found: dict[str, str] = {}
        with expected_shapes():
            async for nodes in self._client.pages(graphql_queries.LABELS, "issueLabels", filter=which):
                for node in (node for node in nodes if not node["isGroup"]):
                    for name in label_names(node):
                        if node["team"] or name.lower() not in found:  # the team's own goes before the workspace's
                            found[name.lower()] = node["id"]
        return found

    def forget(self, team: str) -> None:
        """After one of them was refused: all are looked up again."""
        self._keep({}, team)

    async def _create(self, name: str, team: str) -> str:
        entry = {"name": name, "teamId": team, "color": _COLOUR}
        try:
            made = await self._client.change(graphql_queries.CREATE_LABEL, fence=self._fence, input=entry)
        except Refused as refusal:  # the label may exist by now
            found = await self.find([name], team)
            if name.lower() in found:
                return found[name.lower()]
            if is_there_already(refusal):  # but lists do not show it yet
                raise Retryable(str(refusal)) from refusal
            raise
        with expected_shapes():
            return str(made["issueLabel"]["id"])

    def _known(self, team: str) -> Mapping[str, str]:
        found: Mapping[str, str] = json.loads(self._cache.cursor(team, _CURSOR) or "{}")
        return found

    def _keep(self, known: Mapping[str, str], team: str) -> None:
        self._cache.advance(team, _CURSOR, json.dumps(known))


def ids_on(row: Row, names: Collection[str]) -> Sequence[str]:
    """Ids of the labels on an issue with one of these names."""
    wanted = {name.lower() for name in names}
    return [label["id"] for label in row["labels"] if any(name.lower() in wanted for name in label["names"])]
