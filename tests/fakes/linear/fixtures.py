"""Fixture: a served Linear with one team and its people."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.linear.server import ServedLinear, served
from tests.fakes.linear.world import LinearWorld


@pytest.fixture
def linear(tmp_path: Path) -> Iterator[ServedLinear]:
    """`acme`, team ENG: ana and bob are its members, gus is a guest, treehand-bot is ours."""
    with served(small_world()) as linear:
        yield linear
    assert not linear.violations, "\n".join(linear.violations)


def small_world() -> LinearWorld:
    world = LinearWorld()
    ana, bob = (world.add_user(name, f"{name}@acme.example") for name in ("ana", "bob"))
    world.add_user("gus", "gus@elsewhere.example", guest=True)
    ours = world.add_user("treehand-bot", "treehand-bot@acme.example", app=True)
    world.add_team("ENG", "Engineering", members=[ana, bob, ours])
    return world
