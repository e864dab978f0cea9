"""Number of states of issues, daemon and services explored with the shipped decisions, and broken laws."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from figures import Figure

from tests.exploration.explorer import Exploration
from tests.exploration.pairs import PairExploration
from tests.exploration.state import State

MOST_STATES = 200_000
MOST_PAIRS = 12_000_000


async def measure(folder: Path) -> list[Figure]:
    alone = Exploration(State(), disturbances=2, most_states=MOST_STATES)
    pairs = PairExploration(disturbances=2, most_pairs=MOST_PAIRS)
    taken = [_seconds(alone.run), _seconds(pairs.run)]
    found = (*alone.violations.values(), *pairs.violations.values())
    for violation in found:
        print(violation, file=sys.stderr)
    return [
        Figure("exploration: states of one issue", alone.states, "states"),
        Figure("exploration: distinct pairs of two issues", pairs.states, "states"),
        Figure("exploration: ordered pairs that these represent", pairs.raw_states, "states"),
        Figure("exploration: moves tried", alone.moves + pairs.moves, "moves"),
        Figure("exploration: processor time", sum(taken), "s"),
        Figure("exploration: states per second", (alone.states + pairs.states) / sum(taken), "states"),
        Figure("exploration: laws broken", len(found), "laws", 0),
    ]


def _seconds(explore: Callable[[], None]) -> float:
    began = time.process_time()
    explore()
    return time.process_time() - began
