"""The one way to Linear for the rest of this room: in its turn, fenced, and in our words."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self

from bot.errors import NeedsHuman
from bot.services.http.availability import Holds, Standings
from bot.services.http.credential_lockout import Gate, Unauthorized
from bot.services.http.request_counts import NO_ANSWER, Tally
from bot.services.http.server_clock import ServerTime
from bot.services.linear.errors import Refused, Reply, error_in, no_answer
from bot.services.linear.rate_limits import Pace, Sleep
from bot.services.linear.transport import NoAnswer, Wire
from bot.system.clock import Clock, now, steady

Fence = Callable[[], None]
"""Asked right before each write. Raises when another daemon might act on the project by now."""

_NAME = re.compile(r"\s*(?P<kind>query|mutation) (?P<name>\w+)")
_PAGES = 200


class Linear:
    def __init__(
        self, api_url: str, authorization: str, memory: sqlite3.Connection, *, clock: Clock = now,
        elapsing: Clock = steady, sleep: Sleep = asyncio.sleep,
    ) -> None:  # fmt: skip
        """`elapsing` must go on while the process is stopped and while the machine sleeps."""
        self.elapsing = elapsing
        self._wire = Wire(api_url, authorization)
        self._time = ServerTime(clock)
        self._clock = clock
        self._pace = Pace(Holds(memory), self._time, elapsing, sleep)
        self._gate = Gate(Standings(memory, "Linear"), clock)
        self.tally = Tally()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def query(self, document: str, **variables: Any) -> Any:
        """The whole `data`: of an answer that has errors, nothing is used."""
        return await self._asked(document, variables, before=lambda: None)

    async def pages(self, document: str, root: str, **variables: Any) -> AsyncIterator[Any]:
        """The nodes of one page after another."""
        after, seen = None, set[str]()
        for _ in range(_PAGES):
            found = (await self.query(document, **variables, after=after))[root]
            yield found["nodes"]
            after = found["pageInfo"]["endCursor"]
            if not found["pageInfo"]["hasNextPage"] or not after or after in seen:
                return
            seen.add(after)  # a server whose pages go round in circles has shown them all

    async def change(self, document: str, *, fence: Fence, **variables: Any) -> Any:
        """What the mutation made. Raises Unknown when it may have been done all the same."""
        data = await self._asked(document, variables, before=fence)
        payload = next(iter(data.values()), None)
        if not isinstance(payload, dict) or not isinstance(payload.get("success"), bool):
            raise no_answer("Linear sent something unexpected", asked=_name_of(document), writing=True)
        if not payload["success"]:
            raise Refused(f"Linear did not do it ({_name_of(document)}).")
        return payload

    def local(self, server_time: str) -> float:
        """An ISO time of the server as seconds of our own clock, whatever the two clocks differ by."""
        return self._time.local(server_time)

    def now(self) -> float:
        """Seconds of our own clock."""
        return self._clock()

    def left(self) -> Mapping[str, tuple[float, float]]:
        return self._pace.left()

    async def _asked(self, document: str, variables: Mapping[str, Any], *, before: Callable[[], None]) -> Any:
        ticket = self._gate.enter()
        try:
            data = await self._answered(document, variables, ticket, before)
        except Unauthorized as exc:
            raise self._gate.refused(str(exc), ticket) from exc
        except NeedsHuman:
            self._gate.passed()
            raise
        self._gate.passed()
        return data

    async def _answered(
        self, document: str, variables: Mapping[str, Any], ticket: int, before: Callable[[], None]
    ) -> Any:
        asked, writing = _name_of(document), _head(document)["kind"] == "mutation"
        shape = f"{asked} {variables.get('count', '')}"
        async with self._pace.turn(shape):
            self._gate.check(ticket)
            reply = await self._sent({"query": document, "variables": _sendable(variables)}, asked, writing, before)
            wait = self._pace.heard(shape, reply)
            self.tally.heard(reply.status, {name: left for name, (left, _) in self._pace.left().items()})
        problem = error_in(reply, asked=asked, writing=writing, wait=wait)
        if problem and not (writing and _was_done(reply)):
            raise problem
        return reply.said["data"]

    async def _sent(
        self, body: Mapping[str, Any], asked: str, writing: bool, before: Callable[[], None]  # noqa: FBT001
    ) -> Reply:  # fmt: skip
        try:
            reply = await self._wire.send(body, before=before)
        except NoAnswer as exc:
            self.tally.heard(NO_ANSWER)
            raise no_answer(str(exc), asked=asked, writing=writing and exc.sent) from exc
        self._time.heard(reply.headers.get("date", ""))
        return reply


def _head(document: str) -> re.Match[str]:
    found = _NAME.match(document)
    assert found, "each document begins with what it is, and its name"
    return found


def _was_done(reply: Reply) -> bool:
    """The errors are about what it would have shown of it."""
    data = reply.said.get("data")
    payloads = list(data.values()) if isinstance(data, dict) else []
    return bool(payloads) and all(isinstance(one, dict) and one.get("success") is True for one in payloads)


def _name_of(document: str) -> str:
    return _head(document)["name"]


def _sendable(value: Any) -> Any:
    """An agent's words may hold what is no text."""
    match value:
        case str():
            return value.encode(errors="replace").decode().replace("\0", "")
        case dict():
            return {name: _sendable(item) for name, item in value.items()}
        case list() | tuple():
            return [_sendable(item) for item in value]
        case _:
            return value
