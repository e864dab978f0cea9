"""The desk's SQLite file.

Rule: the daemon and any number of commands use it at once, so every change is one short transaction.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bot.errors import Bug
from bot.system.database import open_database, using

_SCRIPTS = Path(__file__).parent / "migrations"


class Book:
    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._db = open_database(path, sorted(_SCRIPTS.glob("*.sql")), lost=_way_back(path))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """All of it or nothing, and nobody else changes anything meanwhile."""
        self.change("BEGIN IMMEDIATE")
        try:
            yield
            self.change("COMMIT")
        except BaseException:
            self._db.rollback()
            raise

    def change(self, sql: str, *values: object) -> int:
        """The number of rows it concerned."""
        return self._execute(sql, values).rowcount

    def add(self, sql: str, *values: object) -> int:
        """The id of the new row."""
        return self._execute(sql, values).lastrowid or 0

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        return self._execute(sql, values).fetchall()

    def row(self, sql: str, *values: object) -> sqlite3.Row | None:
        return next(iter(self.rows(sql, *values)), None)

    def version(self) -> int:
        """Changes when somebody else changed something, not when we did."""
        return int(self.rows("PRAGMA data_version")[0]["data_version"])

    def next_number(self, project: str) -> int:
        (row,) = self.rows(
            "INSERT INTO numbers VALUES (?, 1) ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last", project
        )
        return int(row["last"])

    def close(self) -> None:
        self._db.close()

    def _execute(self, sql: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        try:
            with using("The database of issues"):
                return self._db.execute(sql, values)
        except sqlite3.Error as exc:
            raise Bug(f"The database of issues refused: {exc}.") from exc


def _way_back(path: Path) -> str:
    """Issues and pull requests are nowhere else: this one is never begun anew by itself."""
    return (
        "It holds your issues and pull requests. Put a copy of yours in its place, or get back what can be got: "
        f"stop everything, `sqlite3 {path} .recover | sqlite3 {path.name}.new`, and put the new file in its place."
    )
