"""Event hub: queues events for every open page, by topic, and replays those that a reconnecting page has missed.

Rule: publishing never waits. A page that is too slow, or that missed more than the hub keeps, gets one `resync` event
and loads itself again.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

STATE = "state"
"""Topic of the API's stream: runs as JSON."""
BOARD = "board"
"""Topic of the board page: changed parts of the page as HTML."""
_MOST_QUEUED = 256
_MOST_DIGITS = 15
_KEPT_EVENTS, _KEPT_LETTERS, _KEPT_TOPICS = 512, 500_000, 100
"""Limits of the replay history: per topic, and the number of topics without a viewer."""


class HubEvent(NamedTuple):
    id: str
    kind: str
    data: str


def run_topic(run_id: str) -> str:
    return f"run {run_id}"


@dataclass(slots=True, eq=False)
class HubViewer:
    topic: str
    queue: deque[HubEvent] = field(default_factory=deque)
    has_news: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _TopicHistory:
    """Events of a topic since `floor`."""

    floor: int
    events: deque[tuple[int, HubEvent]] = field(default_factory=deque)
    letters: int = 0

    def add(self, number: int, event: HubEvent) -> None:
        self.events.append((number, event))
        self.letters += len(event.data)
        while len(self.events) > _KEPT_EVENTS or self.letters > _KEPT_LETTERS:
            self.floor, dropped = self.events.popleft()
            self.letters -= len(dropped.data)


class EventHub:
    def __init__(self) -> None:
        self._instance = secrets.token_hex(4)
        self._viewers: dict[str, set[HubViewer]] = {}
        self._histories: dict[str, _TopicHistory] = {}
        self._number = 0
        """Number of the latest event of all topics."""
        self.changed = asyncio.Event()
        """Set when something changed since the last snapshot."""
        self.has_viewers = asyncio.Event()
        self.is_closed = False

    def notify(self) -> None:
        """Notifies the board feed of a changed state."""
        self.changed.set()

    def publish(self, topic: str, kind: str, data: str) -> None:
        history = self._history_of(topic)
        self._number += 1
        event = HubEvent(f"{self._instance}-{self._number}", kind, data)
        history.add(self._number, event)
        for viewer in self._viewers.get(topic, ()):
            is_behind = len(viewer.queue) >= _MOST_QUEUED
            if is_behind:
                viewer.queue.clear()
            viewer.queue.append(self._resync(topic) if is_behind else event)
            viewer.has_news.set()

    def position(self, topic: str) -> str:
        """Id of the latest event: a page that is rendered now needs only later ones."""
        self._history_of(topic)
        return f"{self._instance}-{self._number}"

    @contextmanager
    def subscribe(self, topic: str, since: str = "") -> Iterator[HubViewer]:
        viewer = HubViewer(topic, deque(self._missed(topic, since)))
        viewer.has_news.set()
        self._viewers.setdefault(topic, set()).add(viewer)
        self.has_viewers.set()
        try:
            yield viewer
        finally:
            self._viewers[topic].discard(viewer)
            if not self._viewers[topic]:
                del self._viewers[topic]
            if not self._viewers:
                self.has_viewers.clear()

    async def next_events(self, viewer: HubViewer, *, within: float) -> Sequence[HubEvent]:
        """Returns the queued events; an empty sequence after `within` seconds without one."""
        try:
            async with asyncio.timeout(within):
                await viewer.has_news.wait()
        except TimeoutError:
            return ()
        viewer.has_news.clear()
        events = tuple(viewer.queue)
        viewer.queue.clear()
        return events

    def close(self) -> None:
        """Ends every subscription."""
        self.is_closed = True
        for viewer in [viewer for viewers in self._viewers.values() for viewer in viewers]:
            viewer.has_news.set()

    def _missed(self, topic: str, since: str) -> list[HubEvent]:
        if not since:
            return []
        history = self._history_of(topic)
        instance, _, number = since.partition("-")
        if instance != self._instance or not _is_number(number) or not history.floor <= int(number) <= self._number:
            return [self._resync(topic)]
        return [event for at, event in history.events if at > int(number)]

    def _history_of(self, topic: str) -> _TopicHistory:
        """Starts a history if the topic has none, and drops the least used ones without a viewer."""
        history = self._histories.pop(topic, None) or _TopicHistory(self._number)
        self._histories[topic] = history
        idle = [name for name in self._histories if name not in self._viewers]
        for name in idle[: max(len(idle) - _KEPT_TOPICS, 0)]:
            del self._histories[name]
        return history

    def _resync(self, topic: str) -> HubEvent:
        return HubEvent(self.position(topic), "resync", "{}")


def _is_number(text: str) -> bool:
    """Python refuses to parse thousands of digits."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS
