"""Repository names: a repository keeps its first name in keys, markers and the cache, whatever it is called by now.

Rule: GitHub's number of a repository says which names are its own.
"""

import sqlite3

from bot.services.http.availability import execute


class RepositoryNames:
    def __init__(self, db: sqlite3.Connection, configured: str) -> None:
        self._db = db
        self.configured = configured
        """As it is in the settings."""
        self.first = first_name_of(db, configured)
        self._others: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """In lower case, the first name first."""
        return tuple(dict.fromkeys(name.lower() for name in (self.first, self.configured, *self._others)))

    def record(self, number: int) -> bool:
        """Records which repository has the configured name. Returns True if its first name is another than thought."""
        rows = execute(self._db, "SELECT name, first_name FROM repositories WHERE id = ? ORDER BY rowid", (number,))
        found = [(row["name"], row["first_name"]) for row in rows]
        self._others = tuple(name for name, _ in found)
        before, self.first = self.first, next((first for _, first in found), self.configured)
        if self.first.lower() == self.configured.lower():
            self.first = self.configured
        self._keep(self.configured, number)
        return before.lower() != self.first.lower()

    def add(self, name: str, number: int) -> None:
        """Records an earlier name."""
        self._others = (*self._others, name)
        self._keep(name, number)

    def _keep(self, name: str, number: int) -> None:
        sql = "INSERT OR REPLACE INTO repositories (name, id, first_name) VALUES (?, ?, ?)"
        known = "SELECT 1 FROM repositories WHERE name = ? AND id = ? AND first_name = ?"
        values = (name.lower(), number, self.first)
        if execute(self._db, known, values).fetchone() is None:
            execute(self._db, sql, values)


def first_name_of(db: sqlite3.Connection, name: str) -> str:
    """The name itself unless another is known. In the spelling of the settings if only that differs."""
    row = execute(db, "SELECT first_name FROM repositories WHERE name = ?", (name.lower(),)).fetchone()
    first = str(row["first_name"]) if row else name
    return name if first.lower() == name.lower() else first
