"""Repository information: current name, default branch, whether it is archived and whether we may push."""

import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bot.errors import NeedsHuman
from bot.services.github.errors import Archived, NotFound
from bot.services.github.repository_api import RepositoryApi
from bot.services.http.availability import Availability

_MAX_AGE = 3600.0  # seconds
_CLEARED_BY = "facts"
_FORMER_BASE = "former base"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RepositoryStatus:
    id: int = 0
    name: str = ""
    archived: bool = False
    base: str = ""
    clone_url: str = ""
    may_push: bool = False


class RepositoryInfo:
    def __init__(self, api: RepositoryApi, availability: Availability) -> None:
        self._api = api
        self._availability = availability
        self._read_at = float("-inf")
        self.foreign_names: set[str] = set()
        """Names that this repository never had."""
        self.status = self._cached()
        self._set_address()

    @property
    def due(self) -> bool:
        return self._api.is_stale or not 0 <= self._api.client.now() - self._read_at < _MAX_AGE

    async def refresh(self) -> None:
        """Reads it by the name in the settings: GitHub redirects to the current name."""
        answer = await self._api.client.get(f"/repos/{self._api.name}", repository=self._api.name)
        status = _parse(answer.data)
        if not self.status.id and self._api.names.record(status.id):
            self._api.cache.move_to(self._api.names.first)  # the settings have its new name
            self.status = self._cached()
        if self.status.id and self.status.id != status.id:
            raise self._recorded(
                NeedsHuman(
                    f"{self._api.name} now names a different repository. If you intended that, stop Treehand, remove "
                    "github.db from its state folder, and start it again."
                )
            )
        self._api.names.record(status.id)
        if status.name.lower() not in {self._api.name.lower(), self.status.name.lower()}:
            _log.warning(
                "repository renamed from=%s to=%s: change `repository` in the settings", self._api.name, status.name
            )
        if self.status.base not in {"", status.base}:
            self._api.cache.advance(_FORMER_BASE, self.status.base)
        self.status, self._read_at, self._api.is_stale = status, self._api.client.now(), False
        self._set_address()
        self._api.cache.advance("facts", json.dumps({name: getattr(status, name) for name in _FIELDS}))

    @property
    def former_base(self) -> str:
        """The default branch before the present one; empty if that is not known."""
        return self._api.cache.cursor(_FORMER_BASE)

    async def adopt_name(self, name: str) -> None:
        """Asks GitHub whether this repository once had that name."""
        number = 0
        with suppress(NotFound):
            number = _parse((await self._api.client.get(f"/repos/{name}", repository=self._api.name)).data).id
        if number == self.status.id:
            self._api.names.add(name, number)
        else:
            self.foreign_names.add(name)
            self._api.is_stale = True  # the poll of that repository clears the failure that this request recorded

    def check_writable(self) -> None:
        if self.status.archived:
            self._api.is_stale = True
            why = f"{self._api.name} is archived. Treehand waits until it can be written to again."
            raise self._recorded(Archived(why, status=403))
        self._availability.record_success(self._api.name, cleared=_CLEARED_BY, now=self._api.client.now())

    def _recorded(self, trouble: NeedsHuman) -> NeedsHuman:
        self._availability.record_trouble(
            self._api.name, str(trouble), cleared_by=_CLEARED_BY, now=self._api.client.now()
        )
        return trouble

    def _cached(self) -> RepositoryStatus:
        cached = self._api.cache.cursor("facts")
        return RepositoryStatus(**json.loads(cached)) if cached else RepositoryStatus()

    def _set_address(self) -> None:
        self._api.address = self.status.name or self._api.name


_FIELDS = ("id", "name", "archived", "base", "clone_url", "may_push")


def _parse(data: Any) -> RepositoryStatus:
    permissions = data.get("permissions") or {}
    return RepositoryStatus(
        id=data["id"],
        name=data["full_name"],
        archived=bool(data.get("archived") or data.get("disabled")),
        base=data.get("default_branch") or "",
        clone_url=data.get("clone_url") or (f"{data['html_url']}.git" if data.get("html_url") else ""),
        may_push=bool(permissions.get("push")),
    )
