"""Order of the tests in a run with several workers: the slow ones first, as many for each worker."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

_SLOW = ("chaos", "upgrade", "program", "browser", "deploy", "setup", "escape")
"""Folders whose tests start daemons, browsers or package managers, and so mostly wait. The slowest are first."""
_TESTS = Path(__file__).parent


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Returns the tests in the order that xdist cuts into one piece per worker.

    Each piece begins with its share of the slow tests and ends with quick ones, which idle workers can take over.
    """
    slow = sorted((item for item in items if _room(item) in _SLOW), key=lambda item: _SLOW.index(_room(item)))
    quick = [item for item in items if _room(item) not in _SLOW]
    hands: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for _, together in groupby(slow, _unit):
        min(hands, key=len).extend(together)
    for number, hand in enumerate(hands):
        end = len(items) * (number + 1) // workers - len(items) * number // workers
        taken = max(0, end - len(hand))
        hand.extend(quick[:taken])
        quick = quick[taken:]
    return [item for hand in hands for item in hand] + quick


def _room(item: pytest.Item) -> str:
    return item.path.relative_to(_TESTS).parts[0] if item.path.is_relative_to(_TESTS) else ""


def _unit(item: pytest.Item) -> str:
    """Tests that share a fixture of their module stay together: it would be made again for each worker."""
    fixtures = getattr(item, "_fixtureinfo", None)
    found = (one for several in fixtures.name2fixturedefs.values() for one in several) if fixtures else ()
    return str(item.path) if any(one.scope == "module" and one.baseid for one in found) else item.nodeid
