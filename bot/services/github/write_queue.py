"""Write queue: one write at a time, the most urgent one first. Rule: no write waits for ever.

The rank of a write is the number of later writes that may go before it. After that many, it is next.
"""

import asyncio
import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count


class WriteRank(IntEnum):
    TOKEN = -5
    """Mints a token, which other writes need."""
    SIGN = 0
    """Labels, and the first progress comment: the first that people see of a run."""
    OFFER = 5
    """Pull requests."""
    ANSWER = 10
    """Questions and answers."""
    EDIT = 20
    """Edits and removals of comments and branches."""
    REACTION = 30


@dataclass(order=True, slots=True)
class Place:
    due: int
    number: int
    may_look: asyncio.Event = field(default_factory=asyncio.Event, compare=False)


class WriteQueue:
    def __init__(self) -> None:
        self._waiting: list[Place] = []
        self._writing: Place | None = None
        self._begun = 0
        self._numbers = count()

    @contextmanager
    def place(self, rank: WriteRank) -> Iterator[Place]:
        """A place in the queue until the write is over, or given up."""
        place = Place(self._begun + rank, next(self._numbers))
        heapq.heappush(self._waiting, place)
        try:
            yield place
        finally:
            self._leave(place)

    async def reach_front(self, place: Place) -> None:
        """Returns when no other write is under way or more urgent. A later one may still become so."""
        while self._writing is not None or self._waiting[0] is not place:
            place.may_look.clear()
            await place.may_look.wait()

    def begin(self, place: Place) -> None:
        """Called at the front, without an await since."""
        assert self._writing is None
        assert self._waiting[0] is place
        self._writing, self._begun = heapq.heappop(self._waiting), self._begun + 1

    def _leave(self, place: Place) -> None:
        if self._writing is place:
            self._writing = None
        else:
            self._waiting.remove(place)
            heapq.heapify(self._waiting)
        if self._waiting and self._writing is None:
            self._waiting[0].may_look.set()
