"""Reads a team's issues and comments into the cache: one small request tells whether anything has changed.

Rule: cursors are the server's own times and our elapsed seconds since then. No two clocks are compared.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from bot.errors import Retryable
from bot.ports import Poll
from bot.services.linear import graphql_queries
from bot.services.linear.cache import Cache, Row
from bot.services.linear.client import LinearClient
from bot.services.linear.errors import NotFound
from bot.services.linear.parse import (
    CLOSED,
    NO_PERSON,
    Payload,
    expected_shapes,
    parse_comment,
    parse_issue,
    parse_person,
    parse_step,
    text,
    time,
)
from bot.services.linear.seen_changes import SeenChanges
from bot.services.linear.team_info import TeamInfo

_OVERLAP = 120.0
"""Seconds: lists show a change late."""
_FULL_READ_SECONDS = 12 * 3600.0
"""Interval of full reads: no list shows deleted issues and comments."""
_ISSUES_PER_QUERY = 15
_ISSUES_PER_PAGE = 50
_COMMENTS_PER_PAGE = 50
_CHANGES_PER_PAGE = 10
"""Most polls find one change or two, and what is asked for costs as much as what is found."""
_PEOPLE_PER_QUERY = 50
_MAX_ROUNDS = 5
_MAX_HISTORY_PAGES = 20
REREADS_UNEXPLAINED = 20
"""Times that an issue is read again while its history does not explain its text."""


class TeamSync:
    """Shared by all projects that have their issues in the team."""

    def __init__(self, client: LinearClient, key: str, cache: Cache, info: TeamInfo, *, label: str) -> None:
        self.client, self.key, self.cache, self.info = client, key, cache, info
        self._label = label.lower()
        self._refresh_in_flight: asyncio.Future[BaseException | None] | None = None
        self._read_in: tuple[Poll | None, frozenset[str]] = (None, frozenset())
        """The last poll, and the issues that were known after it."""
        self._seen = SeenChanges()
        self._full_read_at = float("-inf")
        self._newest = self._latest = ""
        """Latest server time whose changes are all in the cache, and latest server time read since."""
        self._newest_at = self._read_at = client.elapsing()
        """Our elapsed time when `_newest` was set, and when the last complete read began."""

    async def refresh(self, poll: Poll) -> None:
        """Once in a poll, unless more issues are known by now. Concurrent callers share a refresh, and its failure."""
        if self._read_in == (poll, frozenset(self._known())):
            return
        if self._refresh_in_flight is not None:
            failure = await asyncio.shield(self._refresh_in_flight)
            if failure is not None:
                raise failure.with_traceback(None)
            return
        self._refresh_in_flight = asyncio.get_running_loop().create_future()
        failure = None
        try:
            await asyncio.sleep(0)  # lets every project of this poll set the issues it follows first
            with expected_shapes():
                await self._refresh()
        except BaseException as exc:
            failure = exc if isinstance(exc, Exception) else Retryable("Reading from Linear was cancelled.")
            raise
        finally:
            self._refresh_in_flight.set_result(failure)
            self._refresh_in_flight = None
        self._read_in = (poll, frozenset(self._known()))

    @property
    def was_read(self) -> bool:
        return bool(self.cache.cursor(self.key, "looked"))

    def is_wanted(self, row: Row) -> bool:
        """True for an open issue of this team with the label that requests work."""
        return bool(row["open"] and row["in_team"] == self.info.status.id and self.label_ids(row))

    def label_ids(self, row: Row) -> Sequence[str]:
        """Ids of the labels that request work: several may have the name."""
        return [label["id"] for label in row["labels"] if any(name.lower() == self._label for name in label["names"])]

    async def find(self, key: str) -> Row | None:
        """Finds an issue by any identifier it ever had. Returns None if there is none, or if it is not shown to us."""
        try:
            found = await self.client.query(graphql_queries.FIND_ISSUE, id=key)
        except NotFound:
            return None
        await self._read([found["issue"]["id"]], keys={found["issue"]["id"]: key})
        return self.cache.find_issue(found["issue"]["id"])

    async def _refresh(self) -> None:
        self._latest, began = self._newest, self.client.elapsing()
        if self.info.due:
            await self.info.refresh()
        if self.client.elapsing() - self._full_read_at >= _FULL_READ_SECONDS:
            await self._read_everything()
        else:
            await self._read_new(self._since())
        if self._latest != self._newest:
            self._newest, self._newest_at = self._latest, self.client.elapsing()
        self._read_at = began

    async def _read_new(self, since: str) -> None:
        self._seen.forget_before(since)
        unexplained = [row["id"] for row in self.cache.issues_of(self.key) if row["doubted"]]
        if (
            unexplained
            or (await self.client.query(graphql_queries.IS_CHANGED, filter=self._filter(since)))["issues"]["nodes"]
        ):
            listed = await self._list(self._filter(since), _CHANGES_PER_PAGE)
            waiting = [row["id"] for row in self.cache.issues_of(self.key) if listed.keys() & row["blockers"]]
            changed = [issue for issue in listed if self._has_changed(issue, listed[issue])]
            await self._read(sorted({*unexplained, *waiting, *changed}))
            await self._read_new_comments([issue for issue in listed if self.cache.find_issue(issue)], since)
            self._note_seen(listed)
            self._forget_unwanted()

    def _note_seen(self, listed: Mapping[str, str]) -> None:
        """A server that lags may list a change, and still show the issue as it was: then it is read again."""
        for issue, updated in listed.items():
            if (row := self.cache.find_issue(issue)) and row["updated"] >= updated:
                self._seen.add_issue(issue, row["updated"])

    async def _read_everything(self) -> None:
        listed = await self._list(self._filter(""), _ISSUES_PER_PAGE)
        missing = self._known() - listed.keys()
        await self._read(sorted({*missing, *(issue for issue in listed if self._has_changed(issue, listed[issue]))}))
        await self._read_all_comments(sorted(self._known()))
        self._forget_unwanted()
        self.cache.tidy()
        self.cache.advance(self.key, "looked", "yes")
        self._full_read_at = self.client.elapsing()

    # Lists

    def _filter(self, since: str) -> Mapping[str, Any]:
        """Open issues with the label, cached ones wherever they are by now, and the issues that block those."""
        watched = self._known().union(*(row["blockers"] for row in self.cache.issues_of(self.key)))
        wanted = {
            "team": {"id": {"eq": self.info.status.id}},
            "labels": {"some": {"name": {"eqIgnoreCase": self._label}}},
            "state": {"type": {"nin": sorted(CLOSED)}},
            "archivedAt": {"null": True},
        }
        which = [wanted, *([{"id": {"in": sorted(watched)}}] if watched else [])]
        return {"and": [{"or": which}, *([self._seen.unseen_since(since)] if since else [])]}

    def _known(self) -> set[str]:
        return {row["id"] for row in self.cache.issues_of(self.key)}

    async def _list(self, which: Mapping[str, Any], count: int) -> Mapping[str, str]:
        """Time of the last change by id. Pages shift while they are read: several are read again until none is new."""
        found: dict[str, str] = {}
        for _ in range(_MAX_ROUNDS):
            before, pages = len(found), 0
            async for nodes in self.client.pages(graphql_queries.ISSUE_IDS, "issues", filter=which, count=count):
                pages += 1
                found.update((text(node["id"]), time(node["updatedAt"])) for node in nodes)
            self._note_time(max(found.values(), default=""))
            if pages < 2 or len(found) == before:
                return found
        raise Retryable(f"The issues of {self.key} change faster than they can be read.")

    def _has_changed(self, issue: str, updated: str) -> bool:
        row = self.cache.find_issue(issue)
        return row is None or row["updated"] != updated

    # Issues

    async def _read(self, ids: Sequence[str], keys: Mapping[str, str] | None = None) -> None:
        for some in _in_parts(ids):
            nodes = (await self.client.query(graphql_queries.ISSUES, ids=some, count=len(some)))["issues"]["nodes"]
            rows = [await self._parse(node) for node in nodes]
            # comments first: an issue is never in the cache without its comments
            await self._read_all_comments([row["id"] for row in rows if self.cache.find_issue(row["id"]) is None])
            with self.cache.changing():
                for deleted in set(some) - {row["id"] for row in rows}:
                    self.cache.forget_issue(deleted)
                for row in rows:
                    self._keep(row, (keys or {}).get(row["id"], ""))

    async def _parse(self, node: Payload) -> Row:
        """Reads its history back to the step that added the label."""
        row, steps, history = parse_issue(node), list[Row](), node["history"]
        wanted = set(self.label_ids(row))
        for _ in range(_MAX_HISTORY_PAGES):
            steps += [parse_step(step) for step in history["nodes"]]
            if not (wanted and history["pageInfo"]["hasNextPage"]) or any(
                wanted & set(step["added"]) for step in steps
            ):
                break
            page = {"id": row["id"], "after": history["pageInfo"]["endCursor"]}
            history = (await self.client.query(graphql_queries.HISTORY, **page))["issue"]["history"]
        else:
            row = {**row, "creator": NO_PERSON}  # the requester cannot be found
        return {**row, "steps": sorted(steps, key=lambda step: step["at"])}

    def _keep(self, row: Row, key: str) -> None:
        known = self.cache.find_issue(row["id"])
        self._note_time(row["updated"])
        if known and max(known["updated"], known.get("written", "")) > row["updated"]:
            return  # not only an older list: one that was read while we changed the issue
        self.cache.keep_issue(
            {**row, "read_at": self.client.now(), "doubted": max(known["doubted"] - 1, 0) if known else 0},
            team=known["team"] if known else self.key,
            key=known["key"] if known and known["project"] else key or row["identifier"],
            project=known["project"] if known else "",
        )

    # People

    async def read_people(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Returns current people by id. A person that Linear no longer returns has no permission."""
        found: dict[str, Row] = {}
        with expected_shapes():
            for some in _in_parts(sorted(ids), _PEOPLE_PER_QUERY):
                nodes = (await self.client.query(graphql_queries.PEOPLE, ids=some, count=len(some)))["users"]["nodes"]
                found |= {node["id"]: parse_person(node) for node in nodes}
        return {one: found.get(one, NO_PERSON) for one in ids}

    # Comments

    async def _read_new_comments(self, ids: Sequence[str], since: str) -> None:
        for some in _in_parts(ids, _COMMENTS_PER_PAGE):
            which = {"issue": {"id": {"in": some}}, **({"updatedAt": {"gt": since}} if since else {})}
            await self._fetch_comments(which, _CHANGES_PER_PAGE)

    async def _read_all_comments(self, ids: Sequence[str]) -> None:
        """Forgets deleted comments, but keeps new ones: the list may not show them yet."""
        for some in _in_parts(ids, _COMMENTS_PER_PAGE):
            there = await self._fetch_comments({"issue": {"id": {"in": some}}}, _COMMENTS_PER_PAGE)
            settled = max(_earlier(self._latest, _OVERLAP), self._complete_until(self.client.elapsing()))
            with self.cache.changing():
                for row in (row for issue in some for row in self.cache.comments_on(issue)):
                    if row["id"] not in there and row["created"] < settled:
                        self.cache.forget_comment(row["id"])

    async def read_comments(self, issue: str) -> Sequence[Row]:
        """All comments on an issue, read now."""
        with expected_shapes():
            await self._read_all_comments([issue])
        return self.cache.comments_on(issue)

    async def _fetch_comments(self, which: Mapping[str, Any], count: int) -> Collection[str]:
        there: set[str] = set()
        for _ in range(_MAX_ROUNDS):
            before, pages = len(there), 0
            async for nodes in self.client.pages(graphql_queries.COMMENTS, "comments", filter=which, count=count):
                pages += 1
                there |= {text(node["id"]) for node in nodes}
                with self.cache.changing():
                    for row in map(parse_comment, nodes):
                        self.cache.keep_comment(row)
                        self._seen.add_comment(row["id"], row["updated"])
                        self._note_time(row["updated"])
            if pages < 2 or len(there) == before:
                break
        return there

    # Cursors

    def _note_time(self, updated: str) -> None:
        self._latest = max(self._latest, updated)

    def _since(self) -> str:
        """Empty if nothing was read yet."""
        return self._complete_until(self._read_at)

    def _complete_until(self, then: float) -> str:
        """Server time up to which lists were complete then. The server's clock is taken to run as fast as ours."""
        return _earlier(self._newest, _OVERLAP - (then - self._newest_at))

    def _forget_unwanted(self) -> None:
        with self.cache.changing():
            for row in self.cache.issues_of(self.key):
                if not row["project"] and not self.is_wanted(row):
                    self.cache.forget_issue(row["id"])


def _earlier(when: str, seconds: float) -> str:
    if not when:
        return ""
    return time((datetime.fromisoformat(when) - timedelta(seconds=seconds)).isoformat())


def _in_parts(ids: Sequence[str], size: int = _ISSUES_PER_QUERY) -> Iterator[list[str]]:
    for at in range(0, len(ids), size):
        yield list(ids[at : at + size])
