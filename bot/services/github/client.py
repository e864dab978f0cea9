"""GitHub client: conditional reads from the page cache, paging, writes, GraphQL, and the account of our credential."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

from bot.errors import Retryable
from bot.services.github.auth import AppCredential, Credential
from bot.services.github.errors import NoGraphQL, NotFound, Refused
from bot.services.github.http import HttpClient, HttpRequest, HttpResponse, WriteFence
from bot.services.github.http_cache import CachedPage, PageCache
from bot.services.github.mutations import SERVER_TROUBLE, Mutation, MutationResult, document_of, results_of
from bot.services.github.rate_limits import RequestKind, Sleep
from bot.services.github.transport import ACCEPT, next_link
from bot.services.github.write_queue import WriteRank
from bot.services.http.service_reply import no_answer
from bot.system.clock import Clock, now

_NOTIFYING = {"comments", "replies", "pulls", "issues", "reviews"}
"""Last part of the paths where a POST notifies people."""
_MAX_POLL_INTERVAL = 3600.0  # seconds
_VIEWER = "query { viewer { login databaseId } }"
_PARTIAL_ERRORS = {"NOT_FOUND"}


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """GitHub's answer, or the cached one if nothing has changed."""

    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    changed: bool = True
    """False after a 304: `data` comes from the cache."""
    next: str = ""
    """Path of the next page, ready for `get`."""
    moved: str = ""
    """Path it was redirected to (renamed, transferred); empty if it was not."""


@dataclass(frozen=True, slots=True)
class GitHubAccount:
    """The account that our credential belongs to."""

    login: str
    id: int
    kind: str
    scopes: tuple[str, ...] = ()
    """Scopes of a classic token; permissions of an App."""


class GitHubClient:
    """Every call names the repository it is for (`owner/name`; empty: none): an App's token is minted per repository,
    and trouble with one repository must not hold up another.
    """

    def __init__(
        self,
        api_url: str,
        credential: Credential,
        db: sqlite3.Connection,
        *,
        clock: Clock = now,
        sleep: Sleep = asyncio.sleep,
        fence: WriteFence = lambda _: None,
    ) -> None:
        self._http = HttpClient(api_url, credential, db, clock=clock, sleep=sleep, fence=fence)
        self.request_counts = self._http.request_counts
        self._pages = PageCache(db)
        self._clock = clock
        self._not_before: dict[str, float] = {}
        self._account: GitHubAccount | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        self._http.close()

    async def get(self, path: str, *, repository: str = "", params: Mapping[str, str] | None = None) -> ApiAnswer:
        """Conditional if the answer is cached: after a 304 that answer comes back with `changed` false.

        Raises NotFound (404, 410, 451), Refused (other 4xx), RateLimited, or Retryable.
        """
        address = _address(path, params)
        key = f"{self._http.keyring.identity} {ACCEPT} {address}"
        page = self._pages.find(key, now=self._clock())
        if page and 0 < self._not_before.get(key, 0.0) - self._clock() <= _MAX_POLL_INTERVAL:
            return self._from_cache(page)
        request = HttpRequest("GET", address, repository, headers=page.conditions if page else {})
        response = await self._http.send(request)
        if response.reply.status == 304:
            if page:
                self._note_poll_interval(key, response)
                return self._from_cache(page, response)
            response = await self._get_unconditionally(request)
        self._note_poll_interval(key, response)
        return self._store(key, page, response)

    async def pages(
        self, path: str, *, repository: str = "", params: Mapping[str, str] | None = None
    ) -> AsyncIterator[ApiAnswer]:
        """Follows the server's `next` links; each page is conditional on its own."""
        address, seen = _address(path, params), set[str]()
        while address and address not in seen:
            seen.add(address)  # a server whose links form a circle has sent all its pages
            answer = await self.get(address, repository=repository)
            yield answer
            address = answer.next

    async def write(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        repository: str,
        rank: WriteRank = WriteRank.ANSWER,
    ) -> ApiAnswer:
        """Raises UnknownOutcome if the request may have succeeded (no answer, or 5xx), otherwise like `get`."""
        kind = RequestKind.CREATE if verb == "POST" and path.rpartition("/")[2] in _NOTIFYING else RequestKind.WRITE
        response = await self._http.send(HttpRequest(verb, _address(path), repository, body=body, kind=kind, rank=rank))
        return ApiAnswer(response.reply.status, response.data, response.reply.headers, moved=response.moved)

    async def graphql(self, query: str, variables: Mapping[str, Any], *, repository: str = "") -> Any:
        """Returns the `data` of the answer. Raises NoGraphQL if the server cannot answer this query at all."""
        return _graphql_data(await self._post_graphql(HttpRequest("POST", "/graphql", repository), query, variables))

    async def mutate(
        self, mutations: Sequence[Mutation], *, repository: str, rank: WriteRank
    ) -> Sequence[MutationResult]:
        """Carries out all of them in one request. Returns a result for each: some may be refused.

        Raises UnknownOutcome if they may have been carried out, and NoGraphQL if the server cannot do this at all.
        """
        request = HttpRequest(
            "POST", "/graphql", repository, kind=RequestKind.WRITE, rank=rank, mutations=len(mutations)
        )
        return results_of(await self._post_graphql(request, *document_of(mutations)), len(mutations))

    async def _post_graphql(self, request: HttpRequest, query: str, variables: Mapping[str, Any]) -> Any:
        try:
            response = await self._http.send(replace(request, body={"query": query, "variables": dict(variables)}))
        except (NotFound, Refused) as exc:
            raise NoGraphQL(f"This server has no GraphQL: {exc}") from exc
        return response.data

    async def tail(self, path: str, *, repository: str, most: int) -> str:
        """The last characters of a text, such as a log. It lies on another host: the token is not sent there."""
        response = await self._http.send(HttpRequest("GET", _address(path), repository, as_text=True))
        reply = response.reply
        if target := reply.headers.get("location", ""):
            reply = await self._http.fetch(self._http.transport.absolute(target))
        if reply.status != 200:
            raise NotFound(f"GitHub returned no text (HTTP {reply.status} to GET {path}).", status=reply.status)
        return reply.text[-most:]

    async def token_for(self, repository: str, *, for_push: bool = False) -> str:
        """A valid token. For a push an App's token is newly issued."""
        return await self._http.token_for(repository, fresh=for_push)

    async def account(self) -> GitHubAccount:
        """Read once per process."""
        if self._account is None:
            credential = self._http.keyring.credential
            self._account = await (self._read_app() if isinstance(credential, AppCredential) else self._read_user())
        return self._account

    def to_local_time(self, server_time: str) -> float:
        """An ISO time of the server as seconds of our own clock, corrected for their difference."""
        return self._http.server_time.to_local(server_time)

    def now(self) -> float:
        """Seconds of our own clock."""
        return self._clock()

    async def _read_user(self) -> GitHubAccount:
        kind = self._http.keyring.credential.kind
        try:
            answer = await self.get("/user")
        except Refused:  # an installation's token, as workflows have, belongs to no user
            viewer = (await self.graphql(_VIEWER, {}))["viewer"]
            return GitHubAccount(viewer["login"], viewer["databaseId"] or 0, kind)
        scopes = answer.headers.get("x-oauth-scopes", "").split(",")
        names = tuple(scope.strip() for scope in scopes if scope.strip())
        return GitHubAccount(answer.data["login"], answer.data["id"], kind, names)

    async def _read_app(self) -> GitHubAccount:
        app = (await self.get("/app")).data
        login = f"{app['slug']}[bot]"
        try:
            number = (await self.get(f"/users/{quote(login)}")).data["id"]
        except NotFound:  # this server hides the accounts of Apps
            number = 0
        permissions = tuple(f"{name}:{level}" for name, level in sorted((app.get("permissions") or {}).items()))
        return GitHubAccount(login, number, "app", permissions)

    async def _get_unconditionally(self, request: HttpRequest) -> HttpResponse:
        """After a 304 to a request that had no condition."""
        again = HttpRequest("GET", request.path, request.repository, headers={"Cache-Control": "no-cache"})
        response = await self._http.send(again)
        if response.reply.status == 304:
            raise Retryable(f"GitHub answers 304 to a request without a condition ({request}).")
        return response

    def _from_cache(self, page: CachedPage, response: HttpResponse | None = None) -> ApiAnswer:
        headers = {**page.headers, **(response.reply.headers if response else {})}
        moved = response.moved if response else ""
        return ApiAnswer(200, json.loads(page.body), headers, changed=False, next=page.next, moved=moved)

    def _store(self, key: str, before: CachedPage | None, response: HttpResponse) -> ApiAnswer:
        reply = response.reply
        link = next_link(reply)
        following = self._http.transport.relative(link) if link else ""
        page = CachedPage(
            reply.headers.get("etag", ""), reply.headers.get("last-modified", ""), reply.text, reply.headers, following
        )
        if reply.status == 200 and (page.etag or page.modified):
            self._pages.keep(key, page, now=self._clock())
        elif before:
            self._pages.forget(key)
        changed = before is None or before.body != reply.text
        return ApiAnswer(
            reply.status, response.data, reply.headers, changed=changed, next=following, moved=response.moved
        )

    def _note_poll_interval(self, key: str, response: HttpResponse) -> None:
        interval = response.reply.headers.get("x-poll-interval", "")
        if interval.isdecimal():
            self._not_before[key] = self._clock() + min(float(interval), _MAX_POLL_INTERVAL)


def _address(path: str, params: Mapping[str, str] | None = None) -> str:
    address = "/" + path.lstrip("/")
    return f"{address}{'&' if '?' in address else '?'}{urlencode(sorted(params.items()))}" if params else address


def _graphql_data(answer: Any) -> Any:
    """A missing node is null in the data; any other error makes the answer unusable."""
    if not isinstance(answer, dict):
        raise NoGraphQL("The answer to a query is not GraphQL.")
    errors = [error for error in answer.get("errors") or () if isinstance(error, dict)]
    serious = [error for error in errors if error.get("type") not in _PARTIAL_ERRORS]
    words = "; ".join(str(error.get("message")) for error in serious or errors)
    if any(word in words.lower() for word in SERVER_TROUBLE):
        raise no_answer(f"GitHub could not answer a query: {words}", request="graphql", writing=False)
    if serious or not answer.get("data"):
        raise NoGraphQL(f"GitHub refused a query: {words or 'no data'}")
    return answer["data"]
