"""One team's issues, and what is said on them: one small request tells whether anything is new.

Rule: how far was read goes by the server's own times, and by how long ago we saw them. No two clocks are compared.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from bot.errors import Retryable
from bot.services.linear import graphql_queries as documents
from bot.services.linear.cache import Notebook, Row
from bot.services.linear.client import Linear
from bot.services.linear.errors import NotFound
from bot.services.linear.parse import (
    CLOSED,
    NOBODY,
    Payload,
    expected_shapes,
    parse_comment,
    parse_issue,
    parse_step,
    text,
    time,
)
from bot.services.linear.team_info import Facts

_OVERLAP = 120.0
"""Seconds: lists lag behind what was written."""
_SECONDS_WHOLE = 12 * 3600.0
"""So often everything is looked through: nothing tells of what was deleted."""
_AT_ONCE = 15
_COMMENTS = 50
_ROUNDS = 5
_PAGES_OF_HISTORY = 20
LOOKS_IN_DOUBT = 20
"""So often an issue is read again whose history does not explain yet what it says."""


class Team:
    """As every project that has its issues there sees it."""

    def __init__(self, service: Linear, key: str, notebook: Notebook, facts: Facts, *, label: str) -> None:
        self.service, self.key, self.notebook, self.facts = service, key, notebook, facts
        self._label = label.lower()
        self._flight: asyncio.Future[BaseException | None] | None = None
        self._whole_at = float("-inf")
        self._newest = self._latest = ""
        """The latest of the server's times that were taken in as a whole; and that of what was read since."""
        self._newest_at = self._read_at = service.elapsing()
        """When `_newest` became what it is; and when the last look began that took in all there was."""

    async def refresh(self) -> None:
        """Whoever comes while it is being asked gets the same answer."""
        if self._flight is not None:
            failure = await asyncio.shield(self._flight)
            if failure is not None:
                raise failure.with_traceback(None)
            return
        self._flight = asyncio.get_running_loop().create_future()
        failure = None
        try:
            await asyncio.sleep(0)  # every project that looks now has said whom it follows
            with expected_shapes():
                await self._refresh()
        except BaseException as exc:
            failure = exc if isinstance(exc, Exception) else Retryable("The look was broken off.")
            raise
        finally:
            self._flight.set_result(failure)
            self._flight = None

    @property
    def was_read(self) -> bool:
        return bool(self.notebook.cursor(self.key, "looked"))

    def is_wanted(self, row: Row) -> bool:
        """Is it open, here, and does somebody want it done?"""
        return bool(row["open"] and row["in_team"] == self.facts.standing.id and self.label_ids(row))

    def label_ids(self, row: Row) -> Sequence[str]:
        """The label that asks for work; several may be called like that."""
        return [one["id"] for one in row["labels"] if any(name.lower() == self._label for name in one["names"])]

    async def find(self, key: str) -> Row | None:
        """By any identifier it ever had; None: there is none, or it is not shown to us."""
        try:
            found = await self.service.query(documents.FOUND, id=key)
        except NotFound:
            return None
        await self._read([found["issue"]["id"]], keys={found["issue"]["id"]: key})
        return self.notebook.find_issue(found["issue"]["id"])

    async def _refresh(self) -> None:
        self._latest, began = self._newest, self.service.elapsing()
        if self.facts.due:
            await self.facts.refresh()
        if self.service.elapsing() - self._whole_at >= _SECONDS_WHOLE:
            await self._read_whole()
        else:
            await self._read_on(self._since())
        if self._latest != self._newest:
            self._newest, self._newest_at = self._latest, self.service.elapsing()
        self._read_at = began

    async def _read_on(self, since: str) -> None:
        doubted = [row["id"] for row in self.notebook.issues_of(self.key) if row["doubted"]]
        if doubted or (await self.service.query(documents.NEWS, filter=self._ours(since)))["issues"]["nodes"]:
            listed = await self._listed(self._ours(since))
            waiting = [row["id"] for row in self.notebook.issues_of(self.key) if listed.keys() & row["blockers"]]
            news = [one for one in listed if self._is_news(one, listed[one])]
            await self._read(sorted({*doubted, *waiting, *news}))
            await self._hear([one for one in listed if self.notebook.find_issue(one)], since)
            self._forget_unwanted()

    async def _read_whole(self) -> None:
        listed = await self._listed(self._ours(""))
        missing = self._known() - listed.keys()
        await self._read(sorted({*missing, *(one for one in listed if self._is_news(one, listed[one]))}))
        await self._hear_whole(sorted(self._known()))
        self._forget_unwanted()
        self.notebook.tidy()
        self.notebook.advance(self.key, "looked", "yes")
        self._whole_at = self.service.elapsing()

    # Which issues

    def _ours(self, since: str) -> Mapping[str, Any]:
        """The ones with the label that are open, those that are known already, wherever they are by now, and what
        those wait for.
        """
        watched = self._known().union(*(row["blockers"] for row in self.notebook.issues_of(self.key)))
        wanted = {
            "team": {"id": {"eq": self.facts.standing.id}},
            "labels": {"some": {"name": {"eqIgnoreCase": self._label}}},
            "state": {"type": {"nin": sorted(CLOSED)}},
            "archivedAt": {"null": True},
        }
        which = [wanted, *([{"id": {"in": sorted(watched)}}] if watched else [])]
        later = {"gt": since}
        new = [{"or": [{"updatedAt": later}, {"comments": {"some": {"updatedAt": later}}}]}] if since else []
        return {"and": [{"or": which}, *new]}

    def _known(self) -> set[str]:
        return {row["id"] for row in self.notebook.issues_of(self.key)}

    async def _listed(self, which: Mapping[str, Any]) -> Mapping[str, str]:
        """When each was changed last. Pages shift while one reads them: several are read until none is new."""
        found: dict[str, str] = {}
        for _ in range(_ROUNDS):
            before, pages = len(found), 0
            async for nodes in self.service.pages(documents.LISTED, "issues", filter=which):
                pages += 1
                found.update((text(node["id"]), time(node["updatedAt"])) for node in nodes)
            self._saw(max(found.values(), default=""))
            if pages < 2 or len(found) == before:
                return found
        raise Retryable(f"The issues of {self.key} change faster than they can be read.")

    def _is_news(self, one: str, updated: str) -> bool:
        row = self.notebook.find_issue(one)
        return row is None or row["updated"] != updated

    # What they say

    async def _read(self, ids: Sequence[str], keys: Mapping[str, str] | None = None) -> None:
        for some in _in_parts(ids):
            nodes = (await self.service.query(documents.DETAILS, ids=some, count=len(some)))["issues"]["nodes"]
            rows = [await self._parsed(node) for node in nodes]
            # before they are known: an issue is never known without what is said on it
            await self._hear_whole([row["id"] for row in rows if self.notebook.find_issue(row["id"]) is None])
            with self.notebook.changing():
                for gone in set(some) - {row["id"] for row in rows}:
                    self.notebook.forget_issue(gone)
                for row in rows:
                    self._keep(row, (keys or {}).get(row["id"], ""))

    async def _parsed(self, node: Payload) -> Row:
        """With its history as far back as to who put the label on."""
        row, steps, told = parse_issue(node), list[Row](), node["history"]
        wanted = set(self.label_ids(row))
        for _ in range(_PAGES_OF_HISTORY):
            steps += [parse_step(step) for step in told["nodes"]]
            if not (wanted and told["pageInfo"]["hasNextPage"]) or any(wanted & set(step["added"]) for step in steps):
                break
            page = {"id": row["id"], "after": told["pageInfo"]["endCursor"]}
            told = (await self.service.query(documents.HISTORY, **page))["issue"]["history"]
        else:
            row = {**row, "creator": NOBODY}  # who asked cannot be told
        return {**row, "steps": sorted(steps, key=lambda step: step["at"])}

    def _keep(self, row: Row, key: str) -> None:
        known = self.notebook.find_issue(row["id"])
        self._saw(row["updated"])
        if known and known["updated"] > row["updated"]:
            return
        self.notebook.keep_issue(
            {**row, "doubted": max(known["doubted"] - 1, 0) if known else 0},
            team=known["team"] if known else self.key,
            key=known["key"] if known and known["project"] else key or row["identifier"],
            project=known["project"] if known else "",
        )

    # What is said on them

    async def _hear(self, ids: Sequence[str], since: str) -> None:
        for some in _in_parts(ids, _COMMENTS):
            which = {"issue": {"id": {"in": some}}, **({"updatedAt": {"gt": since}} if since else {})}
            await self._take(which)

    async def _hear_whole(self, ids: Sequence[str]) -> None:
        """What is not there any more was deleted; but a list may not show yet what was only just said."""
        for some in _in_parts(ids, _COMMENTS):
            there = await self._take({"issue": {"id": {"in": some}}})
            settled = max(_earlier(self._latest, _OVERLAP), self._shown(self.service.elapsing()))
            with self.notebook.changing():
                for row in (row for one in some for row in self.notebook.comments_on(one)):
                    if row["id"] not in there and row["created"] < settled:
                        self.notebook.forget_comment(row["id"])

    async def hear_on(self, issue: str) -> Sequence[Row]:
        """All that is said there, asked for now."""
        with expected_shapes():
            await self._hear_whole([issue])
        return self.notebook.comments_on(issue)

    async def _take(self, which: Mapping[str, Any]) -> Collection[str]:
        there: set[str] = set()
        for _ in range(_ROUNDS):
            before, pages = len(there), 0
            async for nodes in self.service.pages(documents.SAID, "comments", filter=which, count=_COMMENTS):
                pages += 1
                there |= {text(node["id"]) for node in nodes}
                with self.notebook.changing():
                    for row in map(parse_comment, nodes):
                        self.notebook.keep_comment(row)
                        self._saw(row["updated"])
            if pages < 2 or len(there) == before:
                break
        return there

    # How far

    def _saw(self, updated: str) -> None:
        self._latest = max(self._latest, updated)

    def _since(self) -> str:
        """Empty: nothing is known."""
        return self._shown(self._read_at)

    def _shown(self, then: float) -> str:
        """What lists showed then, at least: all that was done up to this. The server's clock goes on as ours does."""
        return _earlier(self._newest, _OVERLAP - (then - self._newest_at))

    def _forget_unwanted(self) -> None:
        with self.notebook.changing():
            for row in self.notebook.issues_of(self.key):
                if not row["project"] and not self.is_wanted(row):
                    self.notebook.forget_issue(row["id"])


def _earlier(when: str, seconds: float) -> str:
    if not when:
        return ""
    return time((datetime.fromisoformat(when) - timedelta(seconds=seconds)).isoformat())


def _in_parts(ids: Sequence[str], size: int = _AT_ONCE) -> Iterator[list[str]]:
    for at in range(0, len(ids), size):
        yield list(ids[at : at + size])
