"""The repository itself: where it is now, whether it may be written to, its default branch."""

import json
import logging
from dataclasses import dataclass
from typing import Any

from bot.errors import NeedsHuman
from bot.services.github.errors import Archived
from bot.services.github.repository_api import Access
from bot.services.http.availability import Standings

_SECONDS_GOOD = 3600.0
_ASKED = "facts"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Standing:
    """What GitHub says of a repository."""

    id: int = 0
    name: str = ""
    archived: bool = False
    base: str = ""
    clone_url: str = ""
    may_push: bool = False


class Facts:
    def __init__(self, access: Access, standings: Standings) -> None:
        self._access = access
        self._standings = standings
        self._read_at = float("-inf")
        remembered = access.notebook.cursor("facts")
        self.standing = Standing(**json.loads(remembered)) if remembered else Standing()
        self._find_address()

    @property
    def due(self) -> bool:
        return self._access.doubtful or not 0 <= self._access.service.now() - self._read_at < _SECONDS_GOOD

    async def refresh(self) -> None:
        """Asked by the name in the settings: GitHub leads on to where it is now."""
        answer = await self._access.service.get(f"/repos/{self._access.name}", repository=self._access.name)
        standing = _parse(answer.data)
        if self.standing.id and self.standing.id != standing.id:
            raise self._told(
                NeedsHuman(
                    f"{self._access.name} is another repository than it was. If that is meant, stop me, remove "
                    "github.db in my state folder, and start me again."
                )
            )
        if standing.name.lower() not in {self._access.name.lower(), self.standing.name.lower()}:
            _log.warning("%s is called %s now: set `repository` to that", self._access.name, standing.name)
        self.standing, self._read_at, self._access.doubtful = standing, self._access.service.now(), False
        self._find_address()
        self._access.notebook.advance("facts", json.dumps({name: getattr(standing, name) for name in _FIELDS}))

    def check_writable(self) -> None:
        if self.standing.archived:
            self._access.doubtful = True
            why = f"{self._access.name} is archived: I wait until it can be written to again."
            raise self._told(Archived(why, status=403))
        self._standings.good(self._access.name, asked=_ASKED, now=self._access.service.now())

    def _told(self, trouble: NeedsHuman) -> NeedsHuman:
        """To whoever asks how things are."""
        self._standings.bad(self._access.name, str(trouble), asked=_ASKED, now=self._access.service.now())
        return trouble

    def _find_address(self) -> None:
        self._access.address = self.standing.name or self._access.name


_FIELDS = ("id", "name", "archived", "base", "clone_url", "may_push")


def _parse(data: Any) -> Standing:
    permissions = data.get("permissions") or {}
    return Standing(
        id=data["id"],
        name=data["full_name"],
        archived=bool(data.get("archived") or data.get("disabled")),
        base=data.get("default_branch") or "",
        clone_url=data.get("clone_url") or (f"{data['html_url']}.git" if data.get("html_url") else ""),
        may_push=bool(permissions.get("push")),
    )
