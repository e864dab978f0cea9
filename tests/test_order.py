"""Slow tests come first, every test comes once, and each worker has its share."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.order import _SLOW, dealt

TESTS = Path(__file__).parent


def some(room: str, count: int, *, scope: str = "function") -> list:
    fixture = SimpleNamespace(scope=scope, baseid="tests")
    info = SimpleNamespace(name2fixturedefs={"one": [fixture]})
    path = TESTS / room / "test_one.py"
    return [SimpleNamespace(nodeid=f"{room}:{n}", path=path, _fixtureinfo=info) for n in range(count)]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_test_comes_once_and_each_piece_begins_with_its_share_of_slow_ones(workers):
    items = [*some("domain", 40), *some("program", 20), *some("text", 40), *some("chaos", 5)]
    found = dealt(items, workers)
    assert sorted(item.nodeid for item in found) == sorted(item.nodeid for item in items)
    size = len(items) // workers
    for number in range(workers):
        piece = [item.path.parent.name for item in found[number * size : (number + 1) * size]]
        assert piece[:1] == ["chaos"]
        assert sum(room == "program" for room in piece) >= 20 // workers - 1
        assert piece[-1] in {"domain", "text"}


def test_tests_that_share_a_fixture_of_their_module_stay_with_one_worker():
    found = dealt([*some("domain", 40), *some("deploy", 10, scope="module")], 2)
    assert [item.path.parent.name for item in found[:10]] == ["deploy"] * 10


def test_more_slow_tests_than_a_share_are_all_there():
    items = [*some("domain", 2), *some("program", 9, scope="module")]
    assert len({item.nodeid for item in dealt(items, 3)}) == 11


def test_the_slow_folders_exist():
    assert [room for room in _SLOW if not (TESTS / room).is_dir()] == []
