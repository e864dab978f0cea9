"""Our pull requests and branches: two lists a look, whatever their number."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

from bot.services.github.cache import Kind, Row
from bot.services.github.errors import NotFound
from bot.services.github.offline import Recollection
from bot.services.github.parse import Payload, parse_pull
from bot.services.github.repository_api import Access

_OVERLAP = timedelta(seconds=120)
_FIRST_PAGES = 20
"""How far back the first reading goes. Where there is more, each branch is looked for by its name."""


class Pulls:
    def __init__(self, access: Access, prefix: str) -> None:
        self._access = access
        self._notebook = access.notebook
        self.known = Recollection(access.notebook)
        self._prefix = prefix

    async def refresh(self, branches: Collection[str]) -> None:
        await self._list()
        await self._read_tips(branches)
        if not self._notebook.cursor("all pulls"):
            for branch in sorted(set(branches) - self.known.newest().keys()):
                await self._look_once_for(branch)

    def find(self, branch: str) -> Row | None:
        return self.known.newest().get(branch)

    async def read(self, number: int) -> Row:
        answer = await self._access.get(f"/pulls/{number}")
        return self.keep(answer.data)

    async def look_for(self, branch: str) -> Row | None:
        """The one of a branch, whatever its state and age."""
        owner = self._access.address.partition("/")[0]
        params = {"state": "all", "head": f"{owner}:{branch}"}
        rows = [
            row
            async for page in self._access.pages("/pulls", params)
            for row in self._ours(page.data)
            if row["branch"] == branch
        ]
        for row in rows:
            self._keep(row)
        return self.find(branch)

    async def _look_once_for(self, branch: str) -> None:
        """Whatever comes later, the lists show."""
        if not self._notebook.cursor(f"pulls of {branch}"):
            await self.look_for(branch)
            self._notebook.advance(f"pulls of {branch}", "looked for")

    async def find_tip(self, branch: str) -> str:
        """Where a branch is right now; empty: it is not there."""
        try:
            answer = await self._access.get(f"/git/ref/heads/{quote(branch)}")
        except NotFound:
            return ""
        return str(answer.data["object"]["sha"])

    def set_tip(self, branch: str, tip: str) -> None:
        """What we know before any list shows it; empty: it is gone."""
        tips = {**self.known.tips, branch: tip}
        self._notebook.advance("tips", json.dumps({name: tip for name, tip in sorted(tips.items()) if tip}))

    def keep(self, payload: Payload) -> Row:
        row = parse_pull(payload)
        self._keep(row)
        return row

    async def _list(self) -> None:
        """As far back as we have not read; the first time, all there are, within reason."""
        cursor = self._notebook.cursor("pulls")
        until = (datetime.fromisoformat(cursor) - _OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ") if cursor else ""
        params = {"state": "all", "sort": "updated", "direction": "desc"}
        times: list[str] = []
        ours: list[Row] = []
        pages = 0
        async for page in self._access.pages("/pulls", params):
            pages += 1
            times += [item["updated_at"] for item in page.data]
            ours += self._ours(page.data)
            if to_the_end := not page.next:
                break
            if _reaches(times, until) or (not cursor and pages == _FIRST_PAGES):
                break
        with self._notebook.changing():
            for row in ours:
                self._keep(row)
            self._notebook.advance("pulls", max([cursor, *times]))
            if to_the_end:
                self._notebook.advance("all pulls", "read")

    async def _read_tips(self, branches: Collection[str]) -> None:
        try:
            pages = [page async for page in self._access.pages(f"/git/matching-refs/heads/{self._prefix}")]
        except NotFound:  # this server only knows one at a time
            tips = {branch: await self.find_tip(branch) for branch in sorted({*branches, *self.known.tips})}
        else:
            tips = {ref["ref"].removeprefix("refs/heads/"): ref["object"]["sha"] for page in pages for ref in page.data}
        self._notebook.advance("tips", json.dumps({name: tip for name, tip in sorted(tips.items()) if tip}))

    def _ours(self, items: Sequence[Payload]) -> list[Row]:
        rows = [parse_pull(item) for item in items]
        here = self._access.address.lower()
        return [row for row in rows if row["branch"].startswith(self._prefix) and row["home"].lower() == here]

    def _keep(self, row: Row) -> None:
        self._notebook.keep(Kind.PULL, row, one=row["number"], number=row["number"], updated=row["updated"])


def _reaches(times: Sequence[str], until: str) -> bool:
    """Back to where we were, in a list that is in order."""
    return bool(until) and list(times) == sorted(times, reverse=True) and (not times or times[-1] < until)
