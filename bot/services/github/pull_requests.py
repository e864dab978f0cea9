"""Reads our pull requests and the tips of our branches: two lists per poll, however many there are."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

from bot.services.github.cache import RecordKind, Row
from bot.services.github.errors import NotFound
from bot.services.github.offline import OfflineView
from bot.services.github.parse import Payload, parse_pull
from bot.services.github.repository_api import RepositoryApi

_OVERLAP = timedelta(seconds=120)
_FIRST_PAGES = 20
"""At the first reading. If there are more pages, each branch is searched by its name."""


class PullRequests:
    def __init__(self, api: RepositoryApi, prefix: str) -> None:
        self._api = api
        self._cache = api.cache
        self.known = OfflineView(api.cache)
        self._prefix = prefix

    async def refresh(self, branches: Collection[str]) -> None:
        await self._read_list()
        await self._read_tips(branches)
        if not self._cache.cursor("all pulls"):
            for branch in sorted(set(branches) - self.known.newest().keys()):
                await self._search_once(branch)

    def find(self, branch: str) -> Row | None:
        return self.known.newest().get(branch)

    async def read(self, number: int) -> Row:
        answer = await self._api.get(f"/pulls/{number}")
        return self.keep(answer.data)

    async def search(self, branch: str) -> Row | None:
        """Searches the pull request of a branch, of any state and age."""
        owner = self._api.address.partition("/")[0]
        params = {"state": "all", "head": f"{owner}:{branch}"}
        rows = [
            row
            async for page in self._api.pages("/pulls", params)
            for row in self._ours(page.data)
            if row["branch"] == branch
        ]
        for row in rows:
            self._keep(row)
        return self.find(branch)

    async def _search_once(self, branch: str) -> None:
        """Lists show later ones."""
        if not self._cache.cursor(f"pulls of {branch}"):
            await self.search(branch)
            self._cache.advance(f"pulls of {branch}", "looked for")

    async def find_tip(self, branch: str) -> str:
        """Commit of the branch right now; empty if it does not exist."""
        try:
            answer = await self._api.get(f"/git/ref/heads/{quote(branch)}")
        except NotFound:
            return ""
        return str(answer.data["object"]["sha"])

    def set_tip(self, branch: str, tip: str) -> None:
        """Applies a change of ours before any list shows it; an empty tip removes the branch."""
        self._keep_tips({**self.known.tips, branch: tip})

    def keep(self, payload: Payload) -> Row:
        row = parse_pull(payload)
        self._keep(row)
        return row

    async def _read_list(self) -> None:
        """Back to the cursor; at the first time, up to `_FIRST_PAGES` pages."""
        cursor = self._cache.cursor("pulls")
        until = (datetime.fromisoformat(cursor) - _OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ") if cursor else ""
        params = {"state": "all", "sort": "updated", "direction": "desc"}
        times: list[str] = []
        ours: list[Row] = []
        pages = 0
        async for page in self._api.pages("/pulls", params):
            pages += 1
            times += [item["updated_at"] for item in page.data]
            ours += self._ours(page.data)
            if to_the_end := not page.next:
                break
            if _reaches(times, until) or (not cursor and pages == _FIRST_PAGES):
                break
        with self._cache.changing():
            for row in ours:
                self._keep(row)
            self._cache.advance("pulls", max([cursor, *times]))
            if to_the_end:
                self._cache.advance("all pulls", "read")

    async def _read_tips(self, branches: Collection[str]) -> None:
        try:
            pages = [page async for page in self._api.pages(f"/git/matching-refs/heads/{self._prefix}")]
        except NotFound:  # this server shows one ref at a time only
            tips = {branch: await self.find_tip(branch) for branch in sorted({*branches, *self.known.tips})}
        else:
            tips = {ref["ref"].removeprefix("refs/heads/"): ref["object"]["sha"] for page in pages for ref in page.data}
        self._keep_tips(tips)

    def _keep_tips(self, tips: Mapping[str, str]) -> None:
        self._cache.advance("tips", json.dumps({name: tip for name, tip in sorted(tips.items()) if tip}))

    def _ours(self, items: Sequence[Payload]) -> list[Row]:
        rows = [parse_pull(item) for item in items]
        here = self._api.address.lower()
        return [row for row in rows if row["branch"].startswith(self._prefix) and row["home"].lower() == here]

    def _keep(self, row: Row) -> None:
        self._cache.keep(RecordKind.PULL, row, record=row["number"], number=row["number"], updated=row["updated"])


def _reaches(times: Sequence[str], until: str) -> bool:
    """The list has come to the cursor, and is in order."""
    return bool(until) and list(times) == sorted(times, reverse=True) and (not times or times[-1] < until)
