"""The one way to GitHub for the rest of this room. Rule: what is known already is not fetched again."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

from bot.errors import Retryable
from bot.services.github.auth import AppCredential, Credential
from bot.services.github.errors import NoGraphQL, NotFound, Refused, no_answer
from bot.services.github.http import Arrival, Exchange, Fence, Request
from bot.services.github.http_cache import Page, Pages
from bot.services.github.rate_limits import Kind, Sleep
from bot.services.github.service import Account, Answer
from bot.services.github.transport import ACCEPT, next_link
from bot.system.clock import Clock, now

_TOLD_OF = {"comments", "replies", "pulls", "issues", "reviews"}
"""What a POST to these makes, people get mail about."""
_LONGEST_POLL = 3600.0  # seconds
_VIEWER = "query { viewer { login databaseId } }"
_UNABLE = {"NOT_FOUND"}
_BROKEN = ("something went wrong", "timeout", "timed out")


class GitHub:
    def __init__(
        self,
        api_url: str,
        credential: Credential,
        memory: sqlite3.Connection,
        *,
        clock: Clock = now,
        sleep: Sleep = asyncio.sleep,
        fence: Fence = lambda _: None,
    ) -> None:
        self._exchange = Exchange(api_url, credential, memory, clock=clock, sleep=sleep, fence=fence)
        self.tally = self._exchange.tally
        self._pages = Pages(memory)
        self._clock = clock
        self._not_before: dict[str, float] = {}
        self._account: Account | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        self._exchange.close()

    async def get(self, path: str, *, repository: str = "", params: Mapping[str, str] | None = None) -> Answer:
        address = _address(path, params)
        key = f"{self._exchange.keys.identity} {ACCEPT} {address}"
        page = self._pages.find(key, now=self._clock())
        if page and 0 < self._not_before.get(key, 0.0) - self._clock() <= _LONGEST_POLL:
            return self._remembered(page)
        request = Request("GET", address, repository, headers=page.conditions if page else {})
        arrival = await self._exchange.ask(request)
        if arrival.reply.status == 304:
            if page:
                self._mind_the_interval(key, arrival)
                return self._remembered(page, arrival)
            arrival = await self._insisted(request)
        self._mind_the_interval(key, arrival)
        return self._taken_in(key, page, arrival)

    async def pages(
        self, path: str, *, repository: str = "", params: Mapping[str, str] | None = None
    ) -> AsyncIterator[Answer]:
        address, seen = _address(path, params), set[str]()
        while address and address not in seen:
            seen.add(address)  # a server whose pages go round in circles has shown them all
            answer = await self.get(address, repository=repository)
            yield answer
            address = answer.next

    async def write(self, verb: str, path: str, body: Mapping[str, Any] | None = None, *, repository: str) -> Answer:
        kind = Kind.CREATE if verb == "POST" and path.rpartition("/")[2] in _TOLD_OF else Kind.WRITE
        arrival = await self._exchange.ask(Request(verb, _address(path), repository, body=body, kind=kind))
        return Answer(arrival.reply.status, arrival.data, arrival.reply.headers, moved=arrival.moved)

    async def graphql(self, query: str, variables: Mapping[str, Any], *, repository: str = "") -> Any:
        kind = Kind.WRITE if query.lstrip().startswith("mutation") else Kind.READ
        body = {"query": query, "variables": dict(variables)}
        try:
            arrival = await self._exchange.ask(Request("POST", "/graphql", repository, body=body, kind=kind))
        except (NotFound, Refused) as exc:
            raise NoGraphQL(f"No GraphQL here: {exc}") from exc
        return _data_of(arrival.data, writing=kind is Kind.WRITE)

    async def tail(self, path: str, *, repository: str, most: int) -> str:
        arrival = await self._exchange.ask(Request("GET", _address(path), repository, as_text=True))
        reply = arrival.reply
        if target := reply.headers.get("location", ""):
            reply = await self._exchange.fetch(self._exchange.wire.absolute(target))
        if reply.status != 200:
            raise NotFound(f"GitHub does not give the text (HTTP {reply.status} to GET {path}).", status=reply.status)
        return reply.text[-most:]

    async def token_for(self, repository: str, *, for_push: bool = False) -> str:
        return await self._exchange.token_for(repository, anew=for_push)

    async def who(self) -> Account:
        if self._account is None:
            credential = self._exchange.keys.credential
            self._account = await (self._app() if isinstance(credential, AppCredential) else self._user())
        return self._account

    def local(self, server_time: str) -> float:
        return self._exchange.time.local(server_time)

    def now(self) -> float:
        return self._clock()

    async def _user(self) -> Account:
        kind = self._exchange.keys.credential.kind
        try:
            answer = await self.get("/user")
        except Refused:  # a token of an installation, as workflows have, is no user
            viewer = (await self.graphql(_VIEWER, {}))["viewer"]
            return Account(viewer["login"], viewer["databaseId"] or 0, kind)
        scopes = answer.headers.get("x-oauth-scopes", "").split(",")
        names = tuple(scope.strip() for scope in scopes if scope.strip())
        return Account(answer.data["login"], answer.data["id"], kind, names)

    async def _app(self) -> Account:
        app = (await self.get("/app")).data
        login = f"{app['slug']}[bot]"
        try:
            number = (await self.get(f"/users/{quote(login)}")).data["id"]
        except NotFound:  # a server that does not show the accounts of Apps
            number = 0
        permissions = tuple(f"{name}:{level}" for name, level in sorted((app.get("permissions") or {}).items()))
        return Account(login, number, "app", permissions)

    async def _insisted(self, request: Request) -> Arrival:
        """It says that nothing has changed since nothing."""
        anew = Request("GET", request.path, request.repository, headers={"Cache-Control": "no-cache"})
        arrival = await self._exchange.ask(anew)
        if arrival.reply.status == 304:
            raise Retryable(f"GitHub says that what we never saw has not changed ({request}).")
        return arrival

    def _remembered(self, page: Page, arrival: Arrival | None = None) -> Answer:
        headers = {**page.headers, **(arrival.reply.headers if arrival else {})}
        moved = arrival.moved if arrival else ""
        return Answer(200, json.loads(page.body), headers, changed=False, next=page.next, moved=moved)

    def _taken_in(self, key: str, before: Page | None, arrival: Arrival) -> Answer:
        reply = arrival.reply
        link = next_link(reply)
        following = self._exchange.wire.relative(link) if link else ""
        page = Page(
            reply.headers.get("etag", ""), reply.headers.get("last-modified", ""), reply.text, reply.headers, following
        )
        if reply.status == 200 and (page.etag or page.modified):
            self._pages.keep(key, page, now=self._clock())
        elif before:
            self._pages.forget(key)
        changed = before is None or before.body != reply.text
        return Answer(reply.status, arrival.data, reply.headers, changed=changed, next=following, moved=arrival.moved)

    def _mind_the_interval(self, key: str, arrival: Arrival) -> None:
        interval = arrival.reply.headers.get("x-poll-interval", "")
        if interval.isdecimal():
            self._not_before[key] = self._clock() + min(float(interval), _LONGEST_POLL)


def _address(path: str, params: Mapping[str, str] | None = None) -> str:
    address = "/" + path.lstrip("/")
    return f"{address}{'&' if '?' in address else '?'}{urlencode(sorted(params.items()))}" if params else address


def _data_of(said: Any, *, writing: bool) -> Any:
    """A part that is not there is null; a part that cannot be asked for makes the answer none at all."""
    if not isinstance(said, dict):
        raise NoGraphQL("What answers queries here does not speak GraphQL.")
    errors = [error for error in said.get("errors") or () if isinstance(error, dict)]
    serious = [error for error in errors if error.get("type") not in _UNABLE]
    words = "; ".join(str(error.get("message")) for error in serious or errors)
    if any(word in words.lower() for word in _BROKEN):
        raise no_answer(f"GitHub could not answer a query: {words}", asked="graphql", writing=writing)
    if serious or not said.get("data"):
        raise NoGraphQL(f"This cannot be asked by GraphQL here: {words or 'no data'}")
    return said["data"]
