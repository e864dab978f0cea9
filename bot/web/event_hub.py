"""Everyone who has a page open, and what they are still to be sent.

Rule: telling never waits. Whoever cannot follow is told to look anew (`resync`) instead, and so is whoever comes back
with a place in a past that is not remembered any more.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

STATE = "state"
"""The topic of all runs, as JSON."""
BOARD = "board"
"""The same as pieces of the page."""
_QUEUED = 256
_MOST_DIGITS = 15
_REMEMBERED, _LETTERS, _TOPICS = 512, 500_000, 100
"""So much is kept of each topic, and of so many besides those that somebody watches."""


class News(NamedTuple):
    id: str
    kind: str
    data: str


def topic_of(run_id: str) -> str:
    """What one run's page wants to hear."""
    return f"run {run_id}"


@dataclass(slots=True, eq=False)
class Viewer:
    topic: str
    waiting: deque[News] = field(default_factory=deque)
    stirred: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Past:
    """What was told of a topic lately: all that came after `floor`."""

    floor: int
    news: deque[tuple[int, News]] = field(default_factory=deque)
    letters: int = 0

    def add(self, number: int, news: News) -> None:
        self.news.append((number, news))
        self.letters += len(news.data)
        while len(self.news) > _REMEMBERED or self.letters > _LETTERS:
            self.floor, gone = self.news.popleft()
            self.letters -= len(gone.data)


class Hub:
    def __init__(self) -> None:
        self._life = secrets.token_hex(4)
        self._viewers: dict[str, set[Viewer]] = {}
        self._pasts: dict[str, _Past] = {}
        self._number = 0
        """Of the latest news, whatever its topic."""
        self.moved = asyncio.Event()
        """Something is not as it was when the last picture was made."""
        self.wanted = asyncio.Event()
        """Somebody watches."""
        self.is_closed = False

    def stir(self) -> None:
        """Something changed: whoever makes pictures is to make one."""
        self.moved.set()

    def is_watched(self, *topics: str) -> bool:
        return any(self._viewers.get(topic) for topic in topics)

    def tell(self, topic: str, kind: str, data: str) -> None:
        """Nobody who watches is waited for."""
        past = self._past_of(topic)
        self._number += 1
        news = News(f"{self._life}-{self._number}", kind, data)
        past.add(self._number, news)
        for viewer in self._viewers.get(topic, ()):
            is_behind = len(viewer.waiting) >= _QUEUED
            if is_behind:
                viewer.waiting.clear()
            viewer.waiting.append(self._resync(topic) if is_behind else news)
            viewer.stirred.set()

    def place(self, topic: str) -> str:
        """Where a page that is made now stands: what comes after it is news to that page."""
        self._past_of(topic)
        return f"{self._life}-{self._number}"

    @contextmanager
    def watching(self, topic: str, since: str = "") -> Iterator[Viewer]:
        viewer = Viewer(topic, deque(self._missed(topic, since)))
        viewer.stirred.set()
        self._viewers.setdefault(topic, set()).add(viewer)
        self.wanted.set()
        try:
            yield viewer
        finally:
            self._viewers[topic].discard(viewer)
            if not self._viewers[topic]:
                del self._viewers[topic]
            if not self._viewers:
                self.wanted.clear()

    async def news_for(self, viewer: Viewer, *, within: float) -> Sequence[News]:
        """All there is; nothing when there was none for so many seconds."""
        try:
            async with asyncio.timeout(within):
                await viewer.stirred.wait()
        except TimeoutError:
            return ()
        viewer.stirred.clear()
        found = tuple(viewer.waiting)
        viewer.waiting.clear()
        return found

    def close(self) -> None:
        """Nobody is told anything more: who watches may go."""
        self.is_closed = True
        for viewer in [one for all_of_them in self._viewers.values() for one in all_of_them]:
            viewer.stirred.set()

    def _missed(self, topic: str, since: str) -> list[News]:
        if not since:
            return []
        past = self._past_of(topic)
        life, _, number = since.partition("-")
        if life != self._life or not _is_number(number) or not past.floor <= int(number) <= self._number:
            return [self._resync(topic)]
        return [news for at, news in past.news if at > int(number)]

    def _past_of(self, topic: str) -> _Past:
        """Kept from now on. What nobody has told of or asked about for longest is forgotten."""
        past = self._pasts.pop(topic, None) or _Past(self._number)
        self._pasts[topic] = past
        idle = [name for name in self._pasts if name not in self._viewers]
        for name in idle[: max(len(idle) - _TOPICS, 0)]:
            del self._pasts[name]
        return past

    def _resync(self, topic: str) -> News:
        return News(self.place(topic), "resync", "{}")


def _is_number(text: str) -> bool:
    """Python refuses those of thousands of digits."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS
