"""Sends one request to GitHub: token, rate limit, write fence, redirects; turns a refusal into one of our errors."""

import asyncio
import re
import sqlite3
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from github.Auth import Auth

from bot.errors import NeedsHuman
from bot.services.github.auth import Credential, Keyring
from bot.services.github.errors import Archived, Forbidden, NotFound, Refused, redacted, status_to_error
from bot.services.github.rate_limit_detection import find_limit
from bot.services.github.rate_limits import WRITES, RateLimiter, RateLimitHolds, RequestKind, Sleep
from bot.services.github.transport import CONNECTIONS, Transport, parse_json
from bot.services.github.write_queue import WriteRank
from bot.services.http.availability import Availability
from bot.services.http.credential_lockout import CredentialLockout, Unauthorized
from bot.services.http.request_counts import NO_ANSWER, RequestCounts
from bot.services.http.server_clock import ServerTime
from bot.services.http.service_reply import NoAnswer, ServiceReply, no_answer
from bot.system.clock import Clock

T = TypeVar("T")

_REDIRECTS = {301, 302, 307, 308}
_MAX_REDIRECTS = 4
_TIME_LIMIT = 120.0  # seconds: more than the transport allows itself
_RESOURCES = frozenset({"core", "graphql"})
_ANY_WRITE, _ANY = "writing", "anything"

WriteFence = Callable[[str], None]
"""Called right before each write to a repository. Raises if another daemon may act on it by now."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    verb: str
    path: str
    repository: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: RequestKind = RequestKind.READ
    rank: WriteRank = WriteRank.ANSWER
    mutations: int = 1
    """Number of effects in it."""
    as_text: bool = False
    """The answer is not JSON, and its redirect is not followed."""

    @property
    def writing(self) -> bool:
        return self.kind in WRITES

    @property
    def resource(self) -> str:
        return "graphql" if self.path == "/graphql" else "core"

    @property
    def shape(self) -> str:
        """Verb and path without the parts that name one issue or commit."""
        return " ".join([self.verb, *(part for part in self._path_in_repository if not re.search(r"\d", part))])

    @property
    def is_essential(self) -> bool:
        """A repository that does not answer this is of no use."""
        return self._path_in_repository in ([], ["issues"])

    @property
    def _path_in_repository(self) -> list[str]:
        return self.path.partition("?")[0].split("/")[4:]

    def __str__(self) -> str:
        return f"{self.verb} {self.path.partition('?')[0]}"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    reply: ServiceReply
    data: Any = None
    moved: str = ""


class HttpClient:
    def __init__(
        self,
        api_url: str,
        credential: Credential,
        db: sqlite3.Connection,
        *,
        clock: Clock,
        sleep: Sleep,
        fence: WriteFence,
    ) -> None:
        self._fence = fence
        self.server_time = ServerTime(clock)
        self.transport = Transport(api_url)
        self.keyring = Keyring(credential, self.server_time, self._send_as_app)
        self._limiter = RateLimiter(RateLimitHolds(db), clock, sleep)
        self._availability = Availability(db)
        self._lockout = CredentialLockout(self._availability, clock)
        self._threads = WorkerThreads(CONNECTIONS)
        self.request_counts = RequestCounts()

    def close(self) -> None:
        self.transport.close()

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Returns an answer below 400, else raises as `GitHubClient` says and records the trouble of the repository."""
        ticket = self._lockout.enter()
        try:
            response = await self._send_with_token(request, ticket)
        except Unauthorized as exc:
            raise self._lockout.record_refusal(str(exc), ticket) from exc
        except NeedsHuman as exc:
            self._lockout.record_success()
            self._record_trouble(request, exc)
            raise
        self._lockout.record_success()
        self._record_success(request)
        return response

    async def token_for(self, repository: str, *, fresh: bool) -> str:
        ticket = self._lockout.enter(to_try=False)
        try:
            return await self.keyring.token_for(repository, fresh=fresh)
        except Unauthorized as exc:
            raise self._lockout.record_refusal(str(exc), ticket) from exc

    async def fetch(self, url: str) -> ServiceReply:
        """Reads from any host, without our credential."""
        try:
            return await self._in_thread(lambda: self.transport.fetch(url))
        except NoAnswer as exc:
            raise no_answer(str(exc), request="GET of a file", writing=False) from exc

    async def _send_as_app(self, verb: str, path: str, body: Mapping[str, Any] | None, auth: Auth) -> Any:
        kind = RequestKind.READ if verb == "GET" else RequestKind.MINT
        request = HttpRequest(verb, path, body=body, kind=kind)
        reply, _ = await self._follow_redirects(request, auth, ticket=None)
        return self._parse(request, reply)

    async def _send_with_token(self, request: HttpRequest, ticket: int) -> HttpResponse:
        auth = await self.keyring.auth_for(request.path, request.repository)
        try:
            reply, moved = await self._follow_redirects(request, auth, ticket)
        except Unauthorized:
            if not self.keyring.renewable:
                raise
            self.keyring.forget(request.repository, auth)
            auth = await self.keyring.auth_for(request.path, request.repository)
            reply, moved = await self._follow_redirects(request, auth, ticket)
        return HttpResponse(reply, None if request.as_text else self._parse(request, reply), moved)

    async def _follow_redirects(self, request: HttpRequest, auth: Auth, ticket: int | None) -> tuple[ServiceReply, str]:
        """Redirects stay on this server, keep their query, and are paced like any request."""
        moved = ""
        for _ in range(_MAX_REDIRECTS):
            reply = await self._send_paced(replace(request, path=moved or request.path), auth, ticket)
            target = reply.headers.get("location", "")
            if reply.status not in _REDIRECTS or not target or request.as_text:
                return reply, moved
            moved = self.transport.relative(target)
        raise NeedsHuman(f"GitHub at {self.transport.api_url} redirects in a circle ({request}).")

    async def _send_paced(self, request: HttpRequest, auth: Auth, ticket: int | None) -> ServiceReply:
        payer = self.keyring.payer(request.repository)
        async with self._limiter.permit(
            request.kind, payer=payer, resource=request.resource, rank=request.rank, mutations=request.mutations
        ):
            if ticket is not None:
                self._lockout.check(ticket)
            reply = await self._send_fenced(request, auth)
            wait = self._limiter.update(reply, request.kind, payer=payer, resource=request.resource)
        if reply.status >= 400 or find_limit(reply):
            clean = replace(reply, text=redacted(reply.text, [*self.keyring.secrets(), auth.token]))
            raise status_to_error(clean, request=str(request), writing=request.writing, wait=wait)
        return reply

    async def _send_fenced(self, request: HttpRequest, auth: Auth) -> ServiceReply:
        def send() -> ServiceReply:
            if request.writing:  # measured here, because the request may have waited before
                self._fence(request.repository)
            return self.transport.send(
                request.verb, request.path, auth=auth, headers={**request.headers}, body=request.body
            )

        try:
            reply = await self._in_thread(send)
        except NoAnswer as exc:
            self.request_counts.add(NO_ANSWER)
            raise no_answer(str(exc), request=str(request), writing=request.writing and exc.sent) from exc
        self.request_counts.add(reply.status, _remaining(reply, request.resource))
        self.server_time.update(reply.headers.get("date", ""))
        return reply

    async def _in_thread(self, function: Callable[[], ServiceReply]) -> ServiceReply:
        try:
            async with asyncio.timeout(_TIME_LIMIT):
                return await self._threads.run(function)
        except TimeoutError as exc:
            raise NoAnswer("GitHub did not answer in time", sent=True) from exc

    def _parse(self, request: HttpRequest, reply: ServiceReply) -> Any:
        try:
            return parse_json(reply)
        except NoAnswer as exc:
            raise no_answer(str(exc), request=str(request), writing=request.writing) from exc

    def _record_trouble(self, request: HttpRequest, error: NeedsHuman) -> None:
        cleared_by = _cleared_by(request, error)
        if request.path.startswith("/repos/") and cleared_by:
            self._availability.record_trouble(
                request.repository, str(error), cleared_by=cleared_by, now=self.server_time.local_now()
            )

    def _record_success(self, request: HttpRequest) -> None:
        for cleared in [_ANY, request.shape, *([_ANY_WRITE] if request.writing else [])]:
            self._availability.record_success(request.repository, cleared=cleared, now=self.server_time.local_now())


class WorkerThreads:
    """A bounded number of threads for blocking calls; they are abandoned when the process ends."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, function: Callable[[], T]) -> T:
        """Cancelling stops the waiting; the thread continues."""
        answer: Future[T] = Future()
        async with self._free:
            threading.Thread(target=_work, args=(function, answer), name="github", daemon=True).start()
            return await asyncio.wrap_future(answer)


def _work(function: Callable[[], T], answer: Future[T]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(function())
    except BaseException as exc:  # noqa: BLE001 - the waiting task raises it
        answer.set_exception(exc)


def _cleared_by(request: HttpRequest, error: NeedsHuman) -> str:
    """The kind of request whose success ends the trouble. Empty if the repository as such has no trouble."""
    match error:
        case Archived():
            return _ANY_WRITE
        case Forbidden():
            return request.shape
        case NotFound(status=451):
            return _ANY
        case NotFound():
            return request.shape if request.is_essential else ""
        case Refused():
            return ""
        case _:
            return _ANY


def _remaining(reply: ServiceReply, resource: str) -> dict[str, float]:
    remaining = reply.headers.get("x-ratelimit-remaining", "")
    named = reply.headers.get("x-ratelimit-resource", "")
    return {named if named in _RESOURCES else resource: float(remaining)} if remaining.isdecimal() else {}
