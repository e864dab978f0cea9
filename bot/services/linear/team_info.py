"""Team information: our account, the team's workflow states, and whether an integration completes issues."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bot.services.http.availability import Availability
from bot.services.linear import graphql_queries
from bot.services.linear.cache import Cache
from bot.services.linear.client import LinearClient
from bot.services.linear.errors import NotFound, Refused
from bot.services.linear.parse import expected_shapes

_MAX_AGE = 6 * 3600.0  # seconds
_CLEARED_BY = "facts"
_FORGES = ("github", "gitlab")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkflowState:
    id: str
    name: str
    type: str
    position: float


@dataclass(frozen=True, slots=True)
class TeamStatus:
    id: str = ""
    key: str = ""
    name: str = ""
    us: str = ""
    """Id of our account."""
    states: tuple[WorkflowState, ...] = ()
    """In the order of the team's board."""
    completes: bool = False
    """Linear's integration completes an issue when its pull request is merged."""


class TeamInfo:
    def __init__(self, client: LinearClient, key: str, cache: Cache, availability: Availability) -> None:
        self._client, self._key, self._cache, self._availability = client, key, cache, availability
        self._read_at = float("-inf")
        cached = cache.cursor(key, "facts")
        self.status = _parse_cached(cached) if cached else TeamStatus()

    @property
    def due(self) -> bool:
        return not 0 <= self._client.now() - self._read_at < _MAX_AGE

    async def refresh(self) -> None:
        with expected_shapes():
            viewer = (await self._client.query(graphql_queries.VIEWER))["viewer"]
            try:
                node = await self._read_team()
            except Refused as trouble:
                self._availability.record_trouble(
                    self._key, str(trouble), cleared_by=_CLEARED_BY, now=self._client.now()
                )
                raise
            states = sorted(
                (WorkflowState(**state) for state in node["states"]["nodes"]), key=lambda state: state.position
            )
            rules = node["gitAutomationStates"]["nodes"]
            merges = [rule for rule in rules if rule["event"] == "merge" and rule["state"]]
            completes = bool(merges) and await self._has_forge()
            self.status = TeamStatus(node["id"], node["key"], node["name"], viewer["id"], tuple(states), completes)
        self._availability.record_success(self._key, cleared=_CLEARED_BY, now=self._client.now())
        self._read_at = self._client.now()
        self._cache.advance(self._key, "facts", json.dumps(asdict(self.status)))

    def expire(self) -> None:
        """After Linear refused something that depends on it: it is read again."""
        self._read_at = float("-inf")

    async def teams(self) -> Sequence[str]:
        """Keys of the teams that our API key shows."""
        return [node["key"] for node in (await self._client.query(graphql_queries.TEAMS))["teams"]["nodes"]]

    async def _read_team(self) -> Any:
        node = await self._find_team({"key": {"eqIgnoreCase": self._key}})
        if node is None and self.status.id:
            node = await self._find_team({"id": {"eq": self.status.id}})
        if node and node["key"].upper() != self._key.upper():
            _log.warning("team renamed from=%s to=%s: change `team` in the settings", self._key, node["key"])
        if node is None:
            known = ", ".join(await self.teams()) or "none"
            raise NotFound(f"The key sees no team {self._key} in Linear. It sees: {known}.")
        return node

    async def _find_team(self, which: Mapping[str, Any]) -> Any:
        nodes = (await self._client.query(graphql_queries.TEAM, filter=which))["teams"]["nodes"]
        return nodes[0] if nodes else None

    async def _has_forge(self) -> bool:
        """True as well if we may not see the integrations."""
        try:
            found = (await self._client.query(graphql_queries.INTEGRATIONS))["integrations"]["nodes"]
        except Refused:
            return True
        return any(integration["service"].lower().startswith(_FORGES) for integration in found)


def _parse_cached(text: str) -> TeamStatus:
    fields = json.loads(text)
    return TeamStatus(**{**fields, "states": tuple(WorkflowState(**state) for state in fields["states"])})
