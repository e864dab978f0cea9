"""Opens the SQLite file in which a service's answers are cached. All of it may be lost: it is read again."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from bot.system.database import open_database, open_or_replace

_LOST = "`treehand run` moves it aside and creates a new one; no data in it is needed."


def open_cache_file(path: Path, migrations: Sequence[Path]) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)  # the file contains issues and comments of private projects
    return open_database(path, migrations, lost=_LOST)


def open_or_replace_cache_file(path: Path, migrations: Sequence[Path], *, at: float) -> sqlite3.Connection:
    """Replaces a damaged file: only the daemon may do that."""
    return open_or_replace(lambda: open_cache_file(path, migrations), at=at)
