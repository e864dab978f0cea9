"""The file in which what is known of Linear lies. All of it may be lost: it is found again, only less cheaply."""

import sqlite3
from pathlib import Path

from bot.system.database import open_database, open_or_renew

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"))

_LOST = "`treehand run` sets it aside and begins a new one; nothing in it is needed."


def open_memory(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)  # it holds what is said in private teams
    return open_database(path, MIGRATIONS, lost=_LOST)


def own_memory(path: Path, *, at: float) -> sqlite3.Connection:
    """For the daemon, which may begin a new one in place of one that is damaged."""
    return open_or_renew(lambda: open_memory(path), at=at)
