"""What rarely changes: who we are, the team with its states, and who moves issues there besides people."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bot.services.http.availability import Standings
from bot.services.linear import graphql_queries as documents
from bot.services.linear.cache import Notebook
from bot.services.linear.client import Linear
from bot.services.linear.errors import NotFound, Refused
from bot.services.linear.parse import expected_shapes

_SECONDS_GOOD = 6 * 3600.0
_ASKED = "facts"
_FORGES = ("github", "gitlab")


@dataclass(frozen=True, slots=True)
class State:
    id: str
    name: str
    type: str
    position: float


@dataclass(frozen=True, slots=True)
class Standing:
    """What Linear says of a team."""

    id: str = ""
    key: str = ""
    name: str = ""
    us: str = ""
    """Our own id."""
    states: tuple[State, ...] = ()
    """In their order."""
    completes: bool = False
    """Merging a pull request completes its issue, without our doing."""


class Facts:
    def __init__(self, service: Linear, key: str, notebook: Notebook, standings: Standings) -> None:
        self._service, self._key, self._notebook, self._standings = service, key, notebook, standings
        self._read_at = float("-inf")
        remembered = notebook.cursor(key, "facts")
        self.standing = _remembered(remembered) if remembered else Standing()

    @property
    def due(self) -> bool:
        return not 0 <= self._service.now() - self._read_at < _SECONDS_GOOD

    async def refresh(self) -> None:
        with expected_shapes():
            viewer = (await self._service.query(documents.VIEWER))["viewer"]
            try:
                node = await self._team()
            except Refused as trouble:
                self._standings.bad(self._key, str(trouble), asked=_ASKED, now=self._service.now())
                raise
            states = sorted((State(**state) for state in node["states"]["nodes"]), key=lambda state: state.position)
            merges = [one for one in node["gitAutomationStates"]["nodes"] if one["event"] == "merge" and one["state"]]
            completes = bool(merges) and await self._has_forge()
            self.standing = Standing(node["id"], node["key"], node["name"], viewer["id"], tuple(states), completes)
        self._standings.good(self._key, asked=_ASKED, now=self._service.now())
        self._read_at = self._service.now()
        self._notebook.advance(self._key, "facts", json.dumps(asdict(self.standing)))

    def doubt(self) -> None:
        """Something of it was refused: it is read again."""
        self._read_at = float("-inf")

    async def teams(self) -> Sequence[str]:
        """Keys of those that our key shows us."""
        return [node["key"] for node in (await self._service.query(documents.TEAMS))["teams"]["nodes"]]

    async def _team(self) -> Any:
        nodes = (await self._service.query(documents.TEAM, key=self._key))["teams"]["nodes"]
        if not nodes:
            known = ", ".join(await self.teams()) or "none"
            raise NotFound(f"Linear shows us no team {self._key}. What it shows: {known}.")
        return nodes[0]

    async def _has_forge(self) -> bool:
        """Who may not see the integrations takes it that what is set up for a merge happens."""
        try:
            found = (await self._service.query(documents.INTEGRATIONS))["integrations"]["nodes"]
        except Refused:
            return True
        return any(one["service"].lower().startswith(_FORGES) for one in found)


def _remembered(text: str) -> Standing:
    words = json.loads(text)
    return Standing(**{**words, "states": tuple(State(**state) for state in words["states"])})
