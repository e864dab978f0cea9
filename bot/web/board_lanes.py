"""Board lanes: their order, the order of cards in them, and the text of an empty lane. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.run import Phase
from bot.status.as_json import LANES
from bot.web.board_cards import BoardCard

_EMPTY_TEXTS = {
    Phase.ASKING: "Nothing needs you.",
    Phase.WORKING: "No agent is working.",
    Phase.REVIEW: "No pull requests to review.",
    Phase.QUEUED: "The queue is empty.",
    Phase.DONE: "No run ended today.",
}


@dataclass(frozen=True, slots=True)
class BoardLane:
    phase: Phase
    name: str
    cards: Sequence[BoardCard]

    @property
    def empty_text(self) -> str:
        return _EMPTY_TEXTS[self.phase]


def lanes_of(cards: Mapping[str, BoardCard]) -> list[BoardLane]:
    return [
        BoardLane(phase, name, [card for card in cards.values() if card.phase is phase])
        for phase, name in LANES.items()
    ]


def sorted_by_lane(cards: Sequence[BoardCard]) -> list[BoardCard]:
    return sorted(cards, key=_order)


def _order(card: BoardCard) -> tuple[int, float, str]:
    """Longest waiting first; ended runs latest first; the queue in its own order."""
    lane = list(LANES).index(card.phase)
    within = {Phase.QUEUED: float(card.queue_position), Phase.DONE: -card.since}.get(card.phase, card.since)
    return lane, within, card.id
