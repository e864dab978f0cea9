"""Linear client: paced and fenced GraphQL queries and mutations, paging, and errors in our terms."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self

from bot.errors import NeedsHuman
from bot.services.http.availability import Availability, RetryTimes
from bot.services.http.credential_lockout import CredentialLockout, Unauthorized
from bot.services.http.request_counts import NO_ANSWER, RequestCounts
from bot.services.http.server_clock import ServerTime
from bot.services.http.service_reply import NoAnswer, ServiceReply, no_answer, sendable
from bot.services.linear.errors import Refused, error_in
from bot.services.linear.rate_limits import RateLimiter, Sleep
from bot.services.linear.transport import Transport
from bot.system.clock import Clock, now, steady

LeaseFence = Callable[[], None]
"""Called right before each write. Raises if another daemon may act on the project by now."""

_OPERATION = re.compile(r"\s*(?P<kind>query|mutation) (?P<name>\w+)")
_MAX_PAGES = 200


class LinearClient:
    def __init__(
        self, api_url: str, authorization: str, db: sqlite3.Connection, *, clock: Clock = now,
        elapsing: Clock = steady, sleep: Sleep = asyncio.sleep,
    ) -> None:  # fmt: skip
        """`elapsing` must continue while the process is stopped and while the machine sleeps."""
        self.elapsing = elapsing
        self._transport = Transport(api_url, authorization)
        self._server_time = ServerTime(clock)
        self._clock = clock
        self._limiter = RateLimiter(RetryTimes(db), self._server_time, elapsing, sleep)
        self._lockout = CredentialLockout(Availability(db, "Linear"), clock)
        self.request_counts = RequestCounts()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def query(self, document: str, **variables: Any) -> Any:
        """Returns the complete `data`. An answer with errors is not used at all."""
        return await self._request(document, variables, before=lambda: None)

    async def pages(self, document: str, root: str, **variables: Any) -> AsyncIterator[Any]:
        """The nodes of each page."""
        after, seen = None, set[str]()
        for _ in range(_MAX_PAGES):
            page = (await self.query(document, **variables, after=after))[root]
            yield page["nodes"]
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"] or not after or after in seen:
                return
            seen.add(after)  # a server whose cursors form a circle has sent all its pages

    async def change(self, document: str, *, fence: LeaseFence, **variables: Any) -> Any:
        """Returns the payload of the mutation. Raises UnknownOutcome if the mutation may have succeeded."""
        data = await self._request(document, variables, before=fence)
        payload = next(iter(data.values()), None)
        if not isinstance(payload, dict) or not isinstance(payload.get("success"), bool):
            raise no_answer("Linear sent an unexpected answer", request=_name_of(document), writing=True)
        if not payload["success"]:
            raise Refused(f"Linear reported no success ({_name_of(document)}).")
        return payload

    def to_local_time(self, server_time: str) -> float:
        """An ISO time of the server as seconds of our own clock, corrected for their difference."""
        return self._server_time.to_local(server_time)

    def now(self) -> float:
        """Seconds of our own clock."""
        return self._clock()

    def remaining(self) -> Mapping[str, tuple[float, float]]:
        """Remaining units of each rate limit, and the limit."""
        return self._limiter.remaining()

    async def _request(self, document: str, variables: Mapping[str, Any], *, before: Callable[[], None]) -> Any:
        ticket = self._lockout.enter()
        try:
            data = await self._send_paced(document, variables, ticket, before)
        except Unauthorized as exc:
            raise self._lockout.record_refusal(str(exc), ticket) from exc
        except NeedsHuman:
            self._lockout.record_success()
            raise
        self._lockout.record_success()
        return data

    async def _send_paced(
        self, document: str, variables: Mapping[str, Any], ticket: int, before: Callable[[], None]
    ) -> Any:
        request, writing = _name_of(document), _operation(document)["kind"] == "mutation"
        shape = f"{request} {variables.get('count', '')}"
        async with self._limiter.permit(shape):
            self._lockout.check(ticket)
            reply = await self._send({"query": document, "variables": sendable(variables)}, request, writing, before)
            wait = self._limiter.update(shape, reply)
            self.request_counts.add(reply.status, {name: left for name, (left, _) in self.remaining().items()})
        problem = error_in(reply, request=request, writing=writing, wait=wait)
        if problem and not (writing and _was_done(reply)):
            raise problem
        return reply.fields["data"]

    async def _send(
        self, body: Mapping[str, Any], request: str, writing: bool, before: Callable[[], None]  # noqa: FBT001
    ) -> ServiceReply:  # fmt: skip
        try:
            reply = await self._transport.send(body, before=before)
        except NoAnswer as exc:
            self.request_counts.add(NO_ANSWER)
            raise no_answer(str(exc), request=request, writing=writing and exc.sent) from exc
        self._server_time.update(reply.headers.get("date", ""))
        return reply


def _operation(document: str) -> re.Match[str]:
    operation = _OPERATION.match(document)
    assert operation, "each document begins with its kind and its name"
    return operation


def _was_done(reply: ServiceReply) -> bool:
    """The mutation succeeded; the errors are about fields of its answer."""
    data = reply.fields.get("data")
    payloads = list(data.values()) if isinstance(data, dict) else []
    return bool(payloads) and all(isinstance(payload, dict) and payload.get("success") is True for payload in payloads)


def _name_of(document: str) -> str:
    return _operation(document)["name"]
