"""Hears what is said anywhere in a repository, in one request however many issues are followed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from bot.services.github.cache import Kind, Row
from bot.services.github.errors import NotFound, Refused
from bot.services.github.parse import Payload
from bot.services.github.repository_api import Access

_OVERLAP = timedelta(seconds=120)
"""By the server's clock: lists lag behind what was written."""
_MOST = "100"
_BEGINNING = "1970-01-02T00:00:00Z"
"""How far was read where nothing had been said yet."""
_NO_SUCH_LIST = {404, 405}


class Listening:
    """To one kind of comment."""

    def __init__(
        self, access: Access, kind: Kind, *, everywhere: str, under: str, parse: Callable[[Payload], Row]
    ) -> None:
        self._access = access
        self._notebook = access.notebook
        self._kind = kind
        self._everywhere = everywhere
        self._under = under
        self._parse = parse
        self._one_by_one = False
        """This server has no list for the whole repository."""

    async def refresh(self) -> None:
        if self._one_by_one:
            return
        try:
            await self._read_on(self._notebook.cursor(self._kind))
        except (NotFound, Refused) as refusal:
            if refusal.status not in _NO_SUCH_LIST:
                raise
            await self._access.get("")  # raises when it is the repository that is gone
            self._one_by_one = True

    async def ensure_whole(
        self, signatures: Mapping[int, tuple[str, int | None]], *, anew: Collection[int] = ()
    ) -> None:
        """All that was said on these. A signature is what changes with it, and how many comments there are."""
        counts = self._notebook.counts(self._kind)
        due = [
            number
            for number, (version, count) in signatures.items()
            if number in anew or self._one_by_one or self._is_due(number, version, count, counts.get(number, 0))
        ]
        silent = {number for number in due if signatures[number][1] == 0 and number not in counts}
        with self._notebook.changing():
            for number in silent:
                self._notebook.advance(self.cursor(number), signatures[number][0])
        for number in due:
            if number not in silent:
                await self.read_whole(number, signatures[number][0])

    def _is_due(self, number: int, version: str, count: int | None, known: int) -> bool:
        read = self._notebook.cursor(self.cursor(number))
        return not read or (count is not None and count != known and read != version)

    async def read_whole(self, number: int, version: str = "read") -> Sequence[Row]:
        rows = [
            {**self._parse(item), "number": number}
            async for page in self._access.pages(self._under.format(number=number))
            for item in page.data
        ]
        with self._notebook.changing():
            self._forget_others(number, {row["id"] for row in rows})
            self._keep(rows)
            self._notebook.advance(self.cursor(number), version)
        return rows

    def was_read(self, number: int) -> bool:
        return bool(self._notebook.cursor(self.cursor(number)))

    def known(self, number: int) -> Sequence[Row]:
        return self._notebook.under(self._kind, [number])

    def cursor(self, number: int) -> str:
        """Under which it is noted that all that was said on one was read."""
        return f"{self._kind}/{number}"

    def keep(self, payload: Payload, number: int) -> Row:
        """What we have just written, before any list shows it."""
        row = {**self._parse(payload), "number": number}
        self._keep([row])
        return row

    async def _read_on(self, cursor: str) -> None:
        since = (_time(cursor) - _OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ") if cursor else ""
        newest = cursor
        while True:
            reached, full = await self._read_from(since)
            newest = max(newest, reached)
            if not (full and since) or reached <= since:
                break
            since = reached  # pages shift while one reads them; times do not
        if full and since:
            newest = max(newest, await self._read_all_from(since))
        self._notebook.advance(self._kind, newest or _BEGINNING)

    async def _read_from(self, since: str) -> tuple[str, bool]:
        """The newest time on the first page, and whether there may be more."""
        answer = await self._access.get(self._everywhere, _order(since))
        return self._take(answer.data), bool(answer.next)

    async def _read_all_from(self, since: str) -> str:
        """More than a page at the same second, or a server that does not care for times."""
        return max([self._take(page.data) async for page in self._access.pages(self._everywhere, _order(since))])

    def _take(self, items: Collection[Payload]) -> str:
        rows = [self._parse(item) for item in items]
        with self._notebook.changing():
            self._keep(rows)
        return max((row["updated"] for row in rows), default="")

    def _keep(self, rows: Collection[Row]) -> None:
        for row in rows:
            self._notebook.keep(self._kind, row, one=row["id"], number=row["number"], updated=row["updated"])

    def _forget_others(self, number: int, ids: Collection[int]) -> None:
        """Deleted ones; but a list may not show yet what was only just said."""
        service = self._access.service
        for row in self._notebook.under(self._kind, [number]):
            if row["id"] not in ids and service.now() - service.local(row["created"]) > _OVERLAP.total_seconds():
                self._notebook.forget(self._kind, row["id"])


def _order(since: str) -> dict[str, str]:
    """From where we were; the first time, the newest are enough to know where we are."""
    order = {"sort": "updated", "direction": "asc" if since else "desc", "per_page": _MOST}
    return {**order, "since": since} if since else order


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
