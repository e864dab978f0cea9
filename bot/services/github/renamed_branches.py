"""Finds the new name of a branch that was renamed: by GitHub's redirect, or by the default branch in its place."""

import json
import logging
from urllib.parse import quote

from bot.services.github.cache import Cache
from bot.services.github.diagnose import Finding
from bot.services.github.errors import NotFound
from bot.services.github.pull_requests import PullRequests
from bot.services.github.repository_api import RepositoryApi
from bot.services.github.repository_info import RepositoryInfo

_CURSOR = "renamed branches"
_log = logging.getLogger(__name__)


class RenamedBranches:
    def __init__(self, api: RepositoryApi, info: RepositoryInfo, pulls: PullRequests) -> None:
        self._api, self._info, self._pulls = api, info, pulls

    async def find(self, branch: str) -> str:
        """Returns its present name; empty if it exists, or if nothing proves that it was renamed.

        https://docs.github.com/en/rest/branches/branches: a renamed branch is answered with a redirect.
        """
        try:
            now = str((await self._api.get(f"/branches/{quote(branch)}")).data["name"])
        except NotFound:
            now = await self._default_in_its_place(branch)
        if now in {"", branch}:
            self._keep({name: new for name, new in self.known.items() if name != branch})
            return ""
        if self.known.get(branch) != now:
            _log.warning("branch renamed repository=%s from=%s to=%s", self._api.name, branch, now)
            self._keep({**self.known, branch: now})
        return now

    @property
    def known(self) -> dict[str, str]:
        """Present names by the former ones, as they were found last."""
        return read_renamed(self._api.cache)

    async def check(self, base: str) -> Finding:
        """A finding for `treehand check`."""
        if now := await self.find(base):
            return Finding("base", ok=True, detail=why_followed(base, now))
        there = bool(await self._pulls.find_tip(base))
        return Finding("base", there, base if there else f"there is no branch {base}: correct `base` in the settings")

    async def _default_in_its_place(self, branch: str) -> str:
        """It was the default branch, another one is that now, and it is gone."""
        was_default = branch in {self._info.status.base, self._info.former_base}
        await self._info.refresh()
        return self._info.status.base if was_default else ""

    def _keep(self, names: dict[str, str]) -> None:
        if names != self.known:
            self._api.cache.advance(_CURSOR, json.dumps(names))


def read_renamed(cache: Cache) -> dict[str, str]:
    cursor = cache.cursor(_CURSOR)
    return dict(json.loads(cursor)) if cursor else {}


def why_followed(branch: str, now: str) -> str:
    """A sentence for the operator."""
    return f"the branch {branch} was renamed to {now}, and Treehand uses {now}: change `base` in the settings"
