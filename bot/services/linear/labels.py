"""A team's labels by name: found, or made where there is none."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence

from bot.errors import Retryable
from bot.services.linear import graphql_queries as documents
from bot.services.linear.cache import Row
from bot.services.linear.client import Fence
from bot.services.linear.errors import Refused, is_there_already
from bot.services.linear.parse import expected_shapes, label_names
from bot.services.linear.team_sync import Team

_KNOWN = "labels"
_COLOUR = "#5E6AD2"


class Labels:
    def __init__(self, team: Team, fence: Fence) -> None:
        self._team, self._service, self._notebook, self._fence = team, team.service, team.notebook, fence
        self._turn = asyncio.Lock()

    async def ids_of(self, names: Collection[str]) -> Sequence[str]:
        """Those that do not exist yet are made."""
        async with self._turn:  # what one finds the next need not look for
            known = self._known()
            if any(name.lower() not in known for name in names):
                known = {**known, **await self.look(names)}
            for name in names:
                if name.lower() not in known:
                    known = {**known, name.lower(): await self._made(name)}
            self._keep(known)
        return [known[name.lower()] for name in names]

    async def look(self, names: Collection[str]) -> Mapping[str, str]:
        """The ids of those that exist, by name in lower case: one in a group goes by `group:name` as well."""
        asked = {part.lower() for name in names for part in (name, name.partition(":")[2]) if part}
        which = {
            "and": [
                {"or": [{"name": {"eqIgnoreCase": name}} for name in sorted(asked)]},
                {"or": [{"team": {"id": {"eq": self._team.facts.standing.id}}}, {"team": {"null": True}}]},
            ]
        }
        found: dict[str, str] = {}
        with expected_shapes():
            async for nodes in self._service.pages(documents.LABELS, "issueLabels", filter=which):
                for node in (one for one in nodes if not one["isGroup"]):
                    for called in label_names(node):
                        if node["team"] or called.lower() not in found:  # the team's own goes before the workspace's
                            found[called.lower()] = node["id"]
        return found

    def forget(self) -> None:
        """One of them was refused: they are looked up again."""
        self._notebook.advance(self._team.key, _KNOWN, "{}")

    async def _made(self, name: str) -> str:
        entry = {"name": name, "teamId": self._team.facts.standing.id, "color": _COLOUR}
        try:
            made = await self._service.change(documents.MAKE_LABEL, fence=self._fence, input=entry)
        except Refused as refusal:  # somebody was faster
            found = await self.look([name])
            if name.lower() in found:
                return found[name.lower()]
            if is_there_already(refusal):  # and lists do not show it yet
                raise Retryable(str(refusal)) from refusal
            raise
        with expected_shapes():
            return str(made["issueLabel"]["id"])

    def _known(self) -> Mapping[str, str]:
        found: Mapping[str, str] = json.loads(self._notebook.cursor(self._team.key, _KNOWN) or "{}")
        return found

    def _keep(self, known: Mapping[str, str]) -> None:
        self._notebook.advance(self._team.key, _KNOWN, json.dumps(known))


def on(row: Row, names: Collection[str]) -> Sequence[str]:
    """Ids of the labels on an issue that go by one of these names."""
    wanted = {name.lower() for name in names}
    return [one["id"] for one in row["labels"] if any(name.lower() in wanted for name in one["names"])]
