"""GraphQL mutations: several effects in one request, each with a result of its own.

Rule: a batch is only for effects that are safe to repeat: labels and reactions. What must happen exactly once is a
request of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.errors import BotError
from bot.services.github.errors import NoGraphQL
from bot.services.http.service_reply import no_answer

_MOST_IN_A_REQUEST = 20
"""GitHub carries them out one after the other and gives up on a request after ten seconds."""
SERVER_TROUBLE = ("something went wrong", "timeout", "timed out")


@dataclass(frozen=True, slots=True)
class Mutation:
    name: str
    """Such as `addReaction`. Its input is of the type `AddReactionInput`."""
    given: Mapping[str, Any]
    selection: str

    @property
    def input_type(self) -> str:
        return f"{self.name[0].upper()}{self.name[1:]}Input"


@dataclass(frozen=True, slots=True)
class MutationResult:
    payload: Mapping[str, Any] | None
    """None if it was refused."""
    is_missing: bool = False
    """GitHub does not know what it names."""


@dataclass(slots=True, eq=False)
class _Waiting:
    mutations: tuple[Mutation, ...]
    results: Sequence[MutationResult] = ()
    failure: BotError | None = None

    @property
    def is_done(self) -> bool:
        return bool(self.results or self.failure)


class MutationBatch:
    """Sends the mutations that wait at the same time as one request."""

    def __init__(self, send: Callable[[Sequence[Mutation]], Awaitable[Sequence[MutationResult]]]) -> None:
        self._send = send
        self._waiting: list[_Waiting] = []
        self._sending = asyncio.Lock()

    async def send(self, *mutations: Mutation) -> Sequence[MutationResult]:
        """Returns a result for each; they go in one request, in this order. Raises what the request raised."""
        one = _Waiting(mutations)
        self._waiting.append(one)
        try:
            await asyncio.sleep(0)  # those that begin at the same time go together
            async with self._sending:
                while not one.is_done:
                    await self._send_next()
        finally:
            if one in self._waiting:
                self._waiting.remove(one)
        if one.failure:
            raise one.failure
        return one.results

    async def _send_next(self) -> None:
        taken = self._take()
        try:
            results = iter(await self._send([mutation for one in taken for mutation in one.mutations]))
        except BotError as failure:
            for one in taken:
                one.failure = failure
        except BaseException:  # this waiter was cancelled; the others have to be sent by another one
            self._waiting[:0] = taken
            raise
        else:
            for one in taken:
                one.results = [next(results) for _ in one.mutations]

    def _take(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        room = _MOST_IN_A_REQUEST
        while self._waiting and (not taken or len(self._waiting[0].mutations) <= room):
            taken.append(self._waiting.pop(0))
            room -= len(taken[-1].mutations)
        return taken


def document_of(mutations: Sequence[Mutation]) -> tuple[str, Mapping[str, Any]]:
    """Returns the text of one request and its variables."""
    declared = ", ".join(f"${_alias(place)}: {one.input_type}!" for place, one in enumerate(mutations))
    fields = "\n".join(
        f"  {_alias(place)}: {one.name}(input: ${_alias(place)}) {{ {one.selection} }}"
        for place, one in enumerate(mutations)
    )
    return f"mutation({declared}) {{\n{fields}\n}}", {_alias(place): one.given for place, one in enumerate(mutations)}


def results_of(answer: Any, count: int) -> Sequence[MutationResult]:
    """Reads the result of each mutation.

    Raises UnknownOutcome if GitHub does not know what it did, and NoGraphQL if it did nothing at all.
    """
    if not isinstance(answer, dict):
        raise NoGraphQL("The answer to a mutation is not GraphQL.")
    errors = [error for error in answer.get("errors") or () if isinstance(error, dict)]
    words = "; ".join(str(error.get("message")) for error in errors)
    if any(word in words.lower() for word in SERVER_TROUBLE):
        raise no_answer(f"GitHub could not answer a mutation: {words}", request="graphql", writing=True)
    data = answer.get("data")
    if not isinstance(data, dict):
        raise NoGraphQL(f"GitHub refused a mutation: {words or 'no data'}")
    kinds = {str(error["path"][0]): error.get("type") for error in errors if error.get("path")}
    return [
        MutationResult(
            None if _alias(place) in kinds else data.get(_alias(place)), kinds.get(_alias(place)) == "NOT_FOUND"
        )
        for place in range(count)
    ]


def _alias(place: int) -> str:
    return f"m{place}"
