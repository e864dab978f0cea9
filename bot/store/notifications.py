"""What people are to be told of, how far each channel was told, and how the house was last, in the database of runs."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, fields

from bot.domain.health import Ailment, Health
from bot.domain.notification import Channel, Happening, Tiding
from bot.system.database import using, whole

Execute = Callable[..., list[sqlite3.Row]]

_KEPT_SECONDS = 30 * 86400.0
_CHANNEL = ", ".join(field.name for field in fields(Channel))


class Tidings:
    def __init__(self, db: sqlite3.Connection, redact: Callable[[str], str] = str) -> None:
        self._db, self._redact = db, redact

    def add(self, tidings: Iterable[Tiding]) -> None:
        """What is there already stays as it is. Within the transaction of the change it tells of, if one is open."""
        for one in tidings:
            self._execute(
                "INSERT INTO tidings (happening, subject, occasion, at, words, over) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (one.happening, one.subject, one.occasion, one.at, self._redact(one.words), one.over),
            )

    def after(self, last: int) -> Sequence[Tiding]:
        rows = self._execute("SELECT * FROM tidings WHERE id > ? ORDER BY id", (last,))
        return [
            Tiding(
                Happening(row["happening"]), row["subject"], row["occasion"], row["at"],
                row["words"], bool(row["over"]), row["id"],
            )
            for row in rows
        ]  # fmt: skip

    def last(self) -> int:
        """Ever, also of those that are forgotten."""
        rows = self._execute("SELECT seq FROM sqlite_sequence WHERE name = 'tidings'")
        return int(rows[0]["seq"]) if rows else 0

    def forget_old(self, now: float) -> None:
        self._execute("DELETE FROM tidings WHERE at < ?", (now - _KEPT_SECONDS,))

    def channel(self, channel_id: str) -> Channel:
        """One that was never seen is told what happens from now on."""
        rows = self._execute(f"SELECT {_CHANNEL} FROM channels WHERE id = ?", (channel_id,))
        return Channel(**dict(rows[0])) if rows else Channel(channel_id, told=self.last())

    def keep(self, channel: Channel) -> None:
        marks = ", ".join("?" for _ in fields(Channel))
        self._execute(f"INSERT OR REPLACE INTO channels ({_CHANNEL}) VALUES ({marks})", astuple(channel))

    def ailments(self) -> Mapping[str, Ailment]:
        rows = self._execute("SELECT * FROM health")
        return {
            row["name"]: Ailment(
                Health(row["name"], bool(row["ok"]), row["detail"], row["still"]), row["since"], bool(row["told"])
            )
            for row in rows
        }

    def note(self, ailments: Iterable[Ailment], tidings: Iterable[Tiding]) -> None:
        """How the house is now, and what is to be told of it: all or nothing."""
        with whole(self._db, self._execute):
            self._execute("DELETE FROM health")
            for one in ailments:
                health = one.health
                values = (
                    health.name, health.ok, self._redact(health.detail), health.still, one.since, one.told,
                )  # fmt: skip
                self._execute("INSERT INTO health VALUES (?, ?, ?, ?, ?, ?)", values)
            self.add(tidings)

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with using("The database of runs"):
            return self._db.execute(sql, values).fetchall()
