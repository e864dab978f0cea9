"""SQLite database of local issues and pull requests.

Rule: the daemon and commands use it at the same time, so every change is one short transaction.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bot.errors import Bug
from bot.system.database import open_database, translate_errors

_SCRIPTS = Path(__file__).parent / "migrations"


class LocalDatabase:
    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._db = open_database(path, sorted(_SCRIPTS.glob("*.sql")), lost=_recovery_advice(path))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commits everything or nothing; no other process writes meanwhile."""
        self.change("BEGIN IMMEDIATE")
        try:
            yield
            self.change("COMMIT")
        except BaseException:
            self._db.rollback()
            raise

    def change(self, sql: str, *values: object) -> int:
        """Returns the number of rows changed."""
        return self._execute(sql, values).rowcount

    def add(self, sql: str, *values: object) -> int:
        """Returns the id of the new row."""
        return self._execute(sql, values).lastrowid or 0

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        return self._execute(sql, values).fetchall()

    def row(self, sql: str, *values: object) -> sqlite3.Row | None:
        return next(iter(self.rows(sql, *values)), None)

    def version(self) -> int:
        """Changes when another connection wrote, not when this one did."""
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
            with translate_errors("The database of issues"):
                return self._db.execute(sql, values)
        except sqlite3.Error as exc:
            raise Bug(f"The database of issues rejected a statement: {exc}.") from exc


def _recovery_advice(path: Path) -> str:
    """Issues and pull requests exist nowhere else, so this database is never replaced automatically."""
    return (
        "It holds your issues and pull requests. Restore a backup, or recover the readable part: "
        f"stop everything, `sqlite3 {path} .recover | sqlite3 {path.name}.new`, and put the new file in its place."
    )
