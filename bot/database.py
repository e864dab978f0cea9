"""One SQLite file: how to open it, and how its schema moves forward."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from bot.errors import CannotStart
from bot.locks import alone


def open_database(path: Path, scripts: Sequence[Path]) -> sqlite3.Connection:
    """Ready to use: checked, migrated, in WAL mode, durable at every commit."""
    with alone(path.with_suffix(".lock")):  # two processes may be the first ones ever, at the same moment
        return _opened(path, scripts)


def _opened(path: Path, scripts: Sequence[Path]) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=10)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        _check(db, path)
        _migrate(db, path, scripts)
    except sqlite3.DatabaseError as exc:
        raise CannotStart(f"The database {path} cannot be used: {exc}. Move it aside to start afresh.") from exc
    return db


def _check(db: sqlite3.Connection, path: Path) -> None:
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise CannotStart(f"The database {path} is damaged ({verdict}). Move it aside to start afresh.")


def _migrate(db: sqlite3.Connection, path: Path, scripts: Sequence[Path]) -> None:
    """Apply each numbered script once, in order. Scripts are never edited after release."""
    ordered = sorted(scripts)
    applied = db.execute("PRAGMA user_version").fetchone()[0]
    if applied > len(ordered):
        raise CannotStart(
            f"The database {path} was written by a newer version (schema {applied}; this one knows {len(ordered)}). "
            "Upgrade treehand, or point state_dir elsewhere."
        )
    for number, script in enumerate(ordered[applied:], start=applied + 1):
        db.executescript(f"BEGIN IMMEDIATE;\n{script.read_text()}\nPRAGMA user_version = {number};\nCOMMIT;")
