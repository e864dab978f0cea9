"""Board feed: takes one snapshot of the state for all viewers and publishes the difference to the one before.

Rule: a snapshot is taken in a thread, never twice at once, and only after a change or after a few seconds.
"""

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.errors import BotError
from bot.status.as_json import RunSummary, StatusSnapshot, run_as_json
from bot.status.interface import DashboardReader
from bot.web import live_update_rate as rate
from bot.web.board_cards import BoardCard, cards_of
from bot.web.board_lanes import sorted_by_lane
from bot.web.event_hub import BOARD, STATE, EventHub
from bot.web.templating import card_html, render

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BoardState:
    snapshot: StatusSnapshot
    cards: Mapping[str, BoardCard]
    """The cards by run id, in the order of the lanes."""
    position: str
    """Position in the board's events: later events are news for a page that shows this state."""


class BoardFeed:
    def __init__(self, data: DashboardReader, hub: EventHub) -> None:
        self._data, self._hub = data, hub
        self._latest: BoardState | None = None
        self._taken_at = 0.0
        self._lock = asyncio.Lock()

    async def current(self) -> BoardState:
        """Takes a new snapshot if the latest is out of date."""
        async with self._lock:
            if self._latest is None or self._is_stale():
                self._hub.changed.clear()
                snapshot = await asyncio.to_thread(self._data.snapshot)
                self._latest = self._publish(snapshot, self._latest)
                self._taken_at = asyncio.get_running_loop().time()
            return self._latest

    def _is_stale(self) -> bool:
        age = asyncio.get_running_loop().time() - self._taken_at
        return age > rate.BOARD_UNCHANGED or (self._hub.changed.is_set() and age > rate.BOARD)

    async def run(self) -> None:
        """Publishes changes while a page is open, until cancelled."""
        while True:
            await self._hub.has_viewers.wait()
            pause = rate.BOARD
            try:
                await self.current()
            except BotError as problem:
                log.warning("board update failed reason=%s", problem)
                pause = rate.BOARD_UNCHANGED
            await asyncio.sleep(pause)
            await self._wait_for_change()

    async def _wait_for_change(self) -> None:
        try:
            async with asyncio.timeout(rate.BOARD_UNCHANGED):
                await self._hub.changed.wait()
        except TimeoutError:
            return

    def _publish(self, snapshot: StatusSnapshot, before: BoardState | None) -> BoardState:
        cards = {card.id: card for card in sorted_by_lane(cards_of(snapshot))}
        if before:
            for kind, data in _changed_cards(before.cards, cards):
                self._hub.publish(BOARD, kind, data)
            if _summary(before.snapshot) != (summary := _summary(snapshot)):
                self._hub.publish(BOARD, "summary", json.dumps({"html": summary}))
            self._publish_runs(before.snapshot, snapshot)
        return BoardState(snapshot, cards, self._hub.position(BOARD))

    def _publish_runs(self, before: StatusSnapshot, now: StatusSnapshot) -> None:
        known = {run.id: (run, before.summaries.get(run.id)) for run in before.runs}
        for run in now.runs:
            summary = now.summaries.get(run.id)
            if known.get(run.id) != (run, summary):
                self._hub.publish(STATE, "run", json.dumps(run_as_json(run, summary or RunSummary())))


def _changed_cards(before: Mapping[str, BoardCard], now: Mapping[str, BoardCard]) -> Iterator[tuple[str, str]]:
    for run_id in before.keys() - now.keys():
        yield "gone", json.dumps({"id": run_id})
    following = ""
    for card in reversed(list(now.values())):
        if before.get(card.id) != card:
            yield "card", json.dumps({"id": card.id, "lane": card.phase, "before": following, "html": card_html(card)})
        following = card.id


def _summary(snapshot: StatusSnapshot) -> str:
    return render("board_summary.html", snapshot=snapshot)
