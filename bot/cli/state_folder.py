"""Chooses the state directory that `treehand init` writes into new settings."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bot.settings.state_place import DEMO_FOLDER, EARLIER_STATES, STATES
from bot.workspace.repository_record import RepositoryRecord, is_known_state_of, is_state_of


def choose_state_dir(name: str, repository: RepositoryRecord | None) -> str:
    """Returns the repository's own earlier state if there is one; otherwise a folder that nothing else uses."""
    earlier = EARLIER_STATES / name
    if repository and is_known_state_of(earlier.expanduser(), name, repository):
        return str(earlier)
    return next(str(folder) for folder in _candidates(name) if _may_use(folder.expanduser(), name, repository))


def _candidates(name: str) -> Iterator[Path]:
    if name != DEMO_FOLDER:
        yield STATES / name
    yield from (STATES / f"{name}-{number}" for number in count(2))


def _may_use(folder: Path, name: str, repository: RepositoryRecord | None) -> bool:
    return not folder.exists() or bool(repository and is_state_of(folder, name, repository))
