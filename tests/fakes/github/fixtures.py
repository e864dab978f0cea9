"""Fixture: a served GitHub with one repository and its people."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.server import ServedGitHub, served


@pytest.fixture
def github(tmp_path: Path) -> Iterator[ServedGitHub]:
    """`acme/shop`: ana may write, tom may triage, eve has no permission, treehand-bot is ours."""
    world = GitHubWorld(tmp_path / "github")
    world.add_repository("acme/shop", ana="write", tom="triage", **{"treehand-bot": "write"})
    world.user("eve")
    with served(world) as github:
        yield github
    assert not github.violations, "\n".join(github.violations)
