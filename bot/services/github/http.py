"""One request and its answer, from asking for the credential to the error in our words."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from github.Auth import Auth

from bot.errors import NeedsHuman
from bot.services.github.auth import Credential, Keyring
from bot.services.github.errors import (
    Archived,
    Forbidden,
    NotFound,
    Refused,
    Reply,
    limit_in,
    no_answer,
    redacted,
    status_to_error,
)
from bot.services.github.http_cache import Limits
from bot.services.github.rate_limits import WRITES, Kind, Pace, Sleep
from bot.services.github.threads import Threads
from bot.services.github.transport import CONNECTIONS, NoAnswer, Wire, parsed
from bot.services.http.availability import Standings
from bot.services.http.credential_lockout import Gate, Unauthorized
from bot.services.http.request_counts import NO_ANSWER, Tally
from bot.services.http.server_clock import ServerTime
from bot.system.clock import Clock

_REDIRECTS = {301, 302, 307, 308}
_HOPS = 4
_WHOLE = 120.0  # seconds: more than the wire allows itself
_RESOURCES = frozenset({"core", "graphql"})
_ANY_WRITE, _ANY = "writing", "anything"

Fence = Callable[[str], None]
"""Asked right before each write to a repository. Raises when another daemon might act on it by now."""


@dataclass(frozen=True, slots=True)
class Request:
    verb: str
    path: str
    repository: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = Kind.READ
    as_text: bool = False
    """What comes is no JSON, and is left where a redirect says it is."""

    @property
    def writing(self) -> bool:
        return self.kind in WRITES

    @property
    def resource(self) -> str:
        return "graphql" if self.path == "/graphql" else "core"

    @property
    def shape(self) -> str:
        """What it asks, whichever issue or commit it asks it about."""
        return " ".join([self.verb, *(part for part in self._rest if not re.search(r"\d", part))])

    @property
    def needed(self) -> bool:
        """A repository that does not show this is of no use."""
        return self._rest in ([], ["issues"])

    @property
    def _rest(self) -> list[str]:
        return self.path.partition("?")[0].split("/")[4:]

    def __str__(self) -> str:
        return f"{self.verb} {self.path.partition('?')[0]}"


@dataclass(frozen=True, slots=True)
class Arrival:
    reply: Reply
    data: Any = None
    moved: str = ""


class Exchange:
    def __init__(
        self,
        api_url: str,
        credential: Credential,
        memory: sqlite3.Connection,
        *,
        clock: Clock,
        sleep: Sleep,
        fence: Fence,
    ) -> None:
        self._fence = fence
        self.time = ServerTime(clock)
        self.wire = Wire(api_url)
        self.keys = Keyring(credential, self.time, self._as_app)
        self._pace = Pace(Limits(memory), clock, sleep)
        self._standings = Standings(memory)
        self._gate = Gate(self._standings, clock)
        self._threads = Threads(CONNECTIONS)
        self.tally = Tally()

    def close(self) -> None:
        self.wire.close()

    async def ask(self, request: Request) -> Arrival:
        """What came, below 400. Raises as `Service` says, with what it means for the repository noted."""
        ticket = self._gate.enter()
        try:
            arrival = await self._followed(request, ticket)
        except Unauthorized as exc:
            raise self._gate.refused(str(exc), ticket) from exc
        except NeedsHuman as exc:
            self._gate.passed()
            self._note_trouble(request, exc)
            raise
        self._gate.passed()
        self._note_success(request)
        return arrival

    async def token_for(self, repository: str, *, anew: bool) -> str:
        ticket = self._gate.enter(to_try=False)
        try:
            return await self.keys.token_for(repository, anew=anew)
        except Unauthorized as exc:
            raise self._gate.refused(str(exc), ticket) from exc

    async def fetch(self, url: str) -> Reply:
        """From wherever GitHub keeps it, and without our credential."""
        try:
            return await self._in_thread(lambda: self.wire.fetch(url))
        except NoAnswer as exc:
            raise no_answer(str(exc), asked="GET of a file", writing=False) from exc

    async def _as_app(self, verb: str, path: str, body: Mapping[str, Any] | None, auth: Auth) -> Any:
        kind = Kind.READ if verb == "GET" else Kind.MINT
        request = Request(verb, path, body=body, kind=kind)
        reply, _ = await self._hops(request, auth, ticket=None)
        return self._read(request, reply)

    async def _followed(self, request: Request, ticket: int) -> Arrival:
        auth = await self.keys.auth_for(request.path, request.repository)
        try:
            reply, moved = await self._hops(request, auth, ticket)
        except Unauthorized:
            if not self.keys.renewable:
                raise
            self.keys.forget(request.repository, auth)
            auth = await self.keys.auth_for(request.path, request.repository)
            reply, moved = await self._hops(request, auth, ticket)
        return Arrival(reply, None if request.as_text else self._read(request, reply), moved)

    async def _hops(self, request: Request, auth: Auth, ticket: int | None) -> tuple[Reply, str]:
        """Redirects stay on this server, keep their query, and are requests in their own turn."""
        moved = ""
        for _ in range(_HOPS):
            reply = await self._once(replace(request, path=moved or request.path), auth, ticket)
            target = reply.headers.get("location", "")
            if reply.status not in _REDIRECTS or not target or request.as_text:
                return reply, moved
            moved = self.wire.relative(target)
        raise NeedsHuman(f"GitHub at {self.wire.api_url} sends us in circles ({request}).")

    async def _once(self, request: Request, auth: Auth, ticket: int | None) -> Reply:
        who = self.keys.payer(request.repository)
        async with self._pace.turn(request.kind, who=who, resource=request.resource):
            if ticket is not None:
                self._gate.check(ticket)
            reply = await self._sent(request, auth)
            wait = self._pace.heard(reply, request.kind, who=who, resource=request.resource)
        if reply.status >= 400 or limit_in(reply):
            clean = replace(reply, text=redacted(reply.text, [*self.keys.secrets(), auth.token]))
            raise status_to_error(clean, asked=str(request), writing=request.writing, wait=wait)
        return reply

    async def _sent(self, request: Request, auth: Auth) -> Reply:
        def send() -> Reply:
            if request.writing:  # here, because before this it may have waited, or been stopped, for any time
                self._fence(request.repository)
            return self.wire.send(request.verb, request.path, auth=auth, headers={**request.headers}, body=request.body)

        try:
            reply = await self._in_thread(send)
        except NoAnswer as exc:
            self.tally.heard(NO_ANSWER)
            raise no_answer(str(exc), asked=str(request), writing=request.writing and exc.sent) from exc
        self.tally.heard(reply.status, _left_in(reply, request.resource))
        self.time.heard(reply.headers.get("date", ""))
        return reply

    async def _in_thread(self, function: Callable[[], Reply]) -> Reply:
        try:
            async with asyncio.timeout(_WHOLE):
                return await self._threads.run(function)
        except TimeoutError as exc:
            raise NoAnswer("GitHub did not answer in time", sent=True) from exc

    def _read(self, request: Request, reply: Reply) -> Any:
        try:
            return parsed(reply)
        except NoAnswer as exc:
            raise no_answer(str(exc), asked=str(request), writing=request.writing) from exc

    def _note_trouble(self, request: Request, error: NeedsHuman) -> None:
        asked = _what_must_succeed(request, error)
        if request.path.startswith("/repos/") and asked:
            self._standings.bad(request.repository, str(error), asked=asked, now=self.time.own())

    def _note_success(self, request: Request) -> None:
        over = [_ANY, request.shape, *([_ANY_WRITE] if request.writing else [])]
        for asked in over:
            self._standings.good(request.repository, asked=asked, now=self.time.own())


def _what_must_succeed(request: Request, error: NeedsHuman) -> str:
    """... for the trouble to be over. Empty: this is no trouble of the whole repository."""
    match error:
        case Archived():
            return _ANY_WRITE
        case Forbidden():
            return request.shape
        case NotFound(status=451):
            return _ANY
        case NotFound():
            return request.shape if request.needed else ""
        case Refused():
            return ""
        case _:
            return _ANY


def _left_in(reply: Reply, resource: str) -> dict[str, float]:
    left = reply.headers.get("x-ratelimit-remaining", "")
    named = reply.headers.get("x-ratelimit-resource", "")
    return {named if named in _RESOURCES else resource: float(left)} if left.isdecimal() else {}
