"""Reads new comments of a repository in one request per poll, however many issues are followed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from bot.services.github.cache import RecordKind, Row
from bot.services.github.errors import NotFound, Refused
from bot.services.github.parse import Payload
from bot.services.github.repository_api import RepositoryApi

_OVERLAP = timedelta(seconds=120)
"""Lists show a new comment late. In time of the server's clock."""
_PER_PAGE = "100"
_BEGINNING = "1970-01-02T00:00:00Z"
"""Cursor for a repository without comments."""
_NO_SUCH_LIST = {404, 405}


class CommentSync:
    """One kind of comment: on issues, or inline in diffs."""

    def __init__(
        self, api: RepositoryApi, kind: RecordKind, *, list_path: str, issue_path: str, parse: Callable[[Payload], Row]
    ) -> None:
        self._api = api
        self._cache = api.cache
        self._kind = kind
        self._list_path = list_path
        self._issue_path = issue_path
        self._parse = parse
        self._one_by_one = False
        """This server has no list for a repository."""

    async def refresh(self) -> None:
        if self._one_by_one:
            return
        try:
            await self._read_new(self._cache.cursor(self._kind))
        except (NotFound, Refused) as refusal:
            if refusal.status not in _NO_SUCH_LIST:
                raise
            await self._api.get("")  # raises if the repository itself is gone
            self._one_by_one = True

    async def ensure_complete(
        self, signatures: Mapping[int, tuple[str, int | None]], *, reread: Collection[int] = ()
    ) -> None:
        """Reads all comments of issues that miss some. Signature: a version that changes with them, and a count."""
        counts = self._cache.counts(self._kind)
        due = [
            number
            for number, (version, count) in signatures.items()
            if number in reread or self._one_by_one or self._is_due(number, version, count, counts.get(number, 0))
        ]
        silent = {number for number in due if signatures[number][1] == 0 and number not in counts}
        with self._cache.changing():
            for number in silent:
                self._cache.advance(self.cursor(number), signatures[number][0])
        for number in due:
            if number not in silent:
                await self.read_all(number, signatures[number][0])

    def _is_due(self, number: int, version: str, count: int | None, known: int) -> bool:
        read = self._cache.cursor(self.cursor(number))
        return not read or (count is not None and count != known and read != version)

    async def read_all(self, number: int, version: str = "read") -> Sequence[Row]:
        rows = [
            {**self._parse(item), "number": number}
            async for page in self._api.pages(self._issue_path.format(number=number))
            for item in page.data
        ]
        with self._cache.changing():
            self._forget_deleted(number, {row["id"] for row in rows})
            self._keep(rows)
            self._cache.advance(self.cursor(number), version)
        return rows

    def was_read(self, number: int) -> bool:
        return bool(self._cache.cursor(self.cursor(number)))

    def known(self, number: int) -> Sequence[Row]:
        return self._cache.under(self._kind, [number])

    def cursor(self, number: int) -> str:
        """Name of the cursor that says all comments of an issue were read."""
        return f"{self._kind}/{number}"

    def keep(self, payload: Payload, number: int) -> Row:
        """Saves a comment of ours before any list shows it."""
        row = {**self._parse(payload), "number": number}
        self._keep([row])
        return row

    async def _read_new(self, cursor: str) -> None:
        since = (_time(cursor) - _OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ") if cursor else ""
        newest = cursor
        while True:
            reached, full = await self._read_from(since)
            newest = max(newest, reached)
            if not (full and since) or reached <= since:
                break
            since = reached  # pages shift while they are read; times do not
        if full and since:
            newest = max(newest, await self._read_all_from(since))
        self._cache.advance(self._kind, newest or _BEGINNING)

    async def _read_from(self, since: str) -> tuple[str, bool]:
        """Returns the newest time on the first page, and whether there may be more pages."""
        answer = await self._api.get(self._list_path, _order(since))
        return self._save(answer.data), bool(answer.next)

    async def _read_all_from(self, since: str) -> str:
        """Serves more than a page of comments in one second, and servers that ignore `since`."""
        return max([self._save(page.data) async for page in self._api.pages(self._list_path, _order(since))])

    def _save(self, items: Collection[Payload]) -> str:
        rows = [self._parse(item) for item in items]
        with self._cache.changing():
            self._keep(rows)
        return max((row["updated"] for row in rows), default="")

    def _keep(self, rows: Collection[Row]) -> None:
        for row in rows:
            self._cache.keep(self._kind, row, record=row["id"], number=row["number"], updated=row["updated"])

    def _forget_deleted(self, number: int, ids: Collection[int]) -> None:
        """Keeps new comments: the list may not show them yet."""
        client = self._api.client
        for row in self._cache.under(self._kind, [number]):
            if row["id"] not in ids and client.now() - client.to_local_time(row["created"]) > _OVERLAP.total_seconds():
                self._cache.forget(self._kind, row["id"])


def _order(since: str) -> dict[str, str]:
    """Oldest first after the cursor; without a cursor only the newest page, to get one."""
    order = {"sort": "updated", "direction": "asc" if since else "desc", "per_page": _PER_PAGE}
    return {**order, "since": since} if since else order


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
