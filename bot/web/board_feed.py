"""One picture for everybody who looks: made in a thread, anew only when something moved, and never twice at once.

Rule: each picture is told as what differs from the one before. So a page that knows which one it shows misses nothing.
"""

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.errors import BotError
from bot.status.as_json import Glimpse, Picture, run_as_json
from bot.status.interface import Window
from bot.web.board_cards import Card, cards_of
from bot.web.event_hub import BOARD, STATE, Hub
from bot.web.templating import card_html, rendered

log = logging.getLogger(__name__)

_BETWEEN_SECONDS = 0.4
_OLD_SECONDS = 5.0
"""What nobody tells of, such as the disk, is looked at as often."""


@dataclass(frozen=True, slots=True)
class Look:
    picture: Picture
    cards: Mapping[str, Card]
    place: str
    """On the board's topic: what comes after it is news."""


class Lookout:
    def __init__(self, window: Window, hub: Hub) -> None:
        self._window, self._hub = window, hub
        self._latest: Look | None = None
        self._made_at = 0.0
        self._making = asyncio.Lock()

    async def look(self) -> Look:
        """Not older than the latest change, or a moment."""
        async with self._making:
            if self._latest is None or self._is_stale():
                self._hub.moved.clear()
                picture = await asyncio.to_thread(self._window.picture)
                self._latest = self._told(picture, self._latest)
                self._made_at = asyncio.get_running_loop().time()
            return self._latest

    def _is_stale(self) -> bool:
        age = asyncio.get_running_loop().time() - self._made_at
        return age > _OLD_SECONDS or (self._hub.moved.is_set() and age > _BETWEEN_SECONDS)

    async def watch(self) -> None:
        """While anybody looks. Until cancelled."""
        while True:
            await self._hub.wanted.wait()
            pause = _BETWEEN_SECONDS
            try:
                await self.look()
            except BotError as problem:
                log.warning("the board waits reason=%s", problem)
                pause = _OLD_SECONDS
            await asyncio.sleep(pause)
            await self._until_moved()

    async def _until_moved(self) -> None:
        try:
            async with asyncio.timeout(_OLD_SECONDS):
                await self._hub.moved.wait()
        except TimeoutError:
            return

    def _told(self, picture: Picture, before: Look | None) -> Look:
        cards = cards_of(picture)
        if before:
            for kind, data in _changes(before.cards, cards):
                self._hub.tell(BOARD, kind, data)
            if _summary(before.picture) != (now := _summary(picture)):
                self._hub.tell(BOARD, "summary", json.dumps({"html": now}))
            self._tell_state(before.picture, picture)
        return Look(picture, cards, self._hub.place(BOARD))

    def _tell_state(self, before: Picture, now: Picture) -> None:
        known = {run.id: (run, before.glimpses.get(run.id)) for run in before.runs}
        for run in now.runs:
            glimpse = now.glimpses.get(run.id)
            if known.get(run.id) != (run, glimpse):
                self._hub.tell(STATE, "run", json.dumps(run_as_json(run, glimpse or Glimpse())))


def _changes(before: Mapping[str, Card], now: Mapping[str, Card]) -> Iterator[tuple[str, str]]:
    for run_id in before.keys() - now.keys():
        yield "gone", json.dumps({"id": run_id})
    following = ""
    for card in reversed(list(now.values())):
        if before.get(card.id) != card:
            told = {"id": card.id, "lane": card.phase, "before": following, "html": card_html(card)}
            yield "card", json.dumps(told)
        following = card.id


def _summary(picture: Picture) -> str:
    return rendered("summary.html", picture=picture)
