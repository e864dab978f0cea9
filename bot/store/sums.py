"""What the database of runs adds up to, for figures. The ledgers are only added to, so their sums only grow."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.spend import Spent
from bot.system.database import using


@dataclass(frozen=True, slots=True)
class Sums:
    db: sqlite3.Connection

    def runs(self) -> Mapping[tuple[str, str], int]:
        """By project and phase."""
        return {
            (row[0], row[1]): row[2] for row in self._rows("SELECT project, phase, count(*) FROM runs GROUP BY 1, 2")
        }

    def turns_started(self) -> Mapping[str, int]:
        return {row[0]: row[1] for row in self._rows("SELECT project, sum(turn) FROM runs GROUP BY 1")}

    def turns_ended(self) -> Mapping[tuple[str, str], int]:
        """By project and failure; an empty one is a good end."""
        return {
            (row[0], row[1]): row[2]
            for row in self._rows("SELECT project, failure, count(*) FROM endings GROUP BY 1, 2")
        }

    def spent(self) -> Mapping[str, Spent]:
        """By project, ever."""
        rows = self._rows("SELECT project, sum(usd), sum(tokens), sum(turns), sum(seconds) FROM money GROUP BY 1")
        return {row[0]: Spent(row[1], row[2], row[3], row[4]) for row in rows}

    def spent_since(self, since: float) -> Mapping[str, float]:
        return {
            row[0]: row[1] for row in self._rows("SELECT project, sum(usd) FROM money WHERE at >= ? GROUP BY 1", since)
        }

    def _rows(self, sql: str, *values: float) -> list[sqlite3.Row]:
        with using("The database of runs"):
            return self.db.execute(sql, values).fetchall()
