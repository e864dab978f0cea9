"""Stores notifications, delivery state of channels and last known health in the database of runs."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, fields

from bot.domain.health import Health, HealthRecord
from bot.domain.notification import ChannelState, Notification, NotificationKind
from bot.system.database import transaction, translate_errors

ExecuteSql = Callable[..., list[sqlite3.Row]]

_KEPT_SECONDS = 30 * 86400.0
_CHANNEL = ", ".join(field.name for field in fields(ChannelState))


class NotificationRecords:
    def __init__(self, db: sqlite3.Connection, redact: Callable[[str], str] = str) -> None:
        self._db, self._redact = db, redact

    def add(self, tidings: Iterable[Notification]) -> None:
        """Keeps existing rows. Joins an open transaction, so that a notification is saved with its change."""
        for one in tidings:
            self._execute(
                "INSERT INTO notifications (kind, subject, dedup_key, at, text, resolved) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (one.kind, one.subject, one.dedup_key, one.at, self._redact(one.text), one.resolved),
            )

    def after(self, last: int) -> Sequence[Notification]:
        rows = self._execute("SELECT * FROM notifications WHERE id > ? ORDER BY id", (last,))
        return [
            Notification(
                NotificationKind(row["kind"]), row["subject"], row["dedup_key"], row["at"],
                row["text"], bool(row["resolved"]), row["id"],
            )
            for row in rows
        ]  # fmt: skip

    def last(self) -> int:
        """Returns the highest id ever assigned, deleted rows included."""
        rows = self._execute("SELECT seq FROM sqlite_sequence WHERE name = 'notifications'")
        return int(rows[0]["seq"]) if rows else 0

    def forget_old(self, now: float) -> None:
        self._execute("DELETE FROM notifications WHERE at < ?", (now - _KEPT_SECONDS,))

    def channel(self, channel_id: str) -> ChannelState:
        """Returns the channel's state; a new channel gets only later notifications."""
        rows = self._execute(f"SELECT {_CHANNEL} FROM channels WHERE id = ?", (channel_id,))
        return ChannelState(**dict(rows[0])) if rows else ChannelState(channel_id, delivered=self.last())

    def keep(self, channel: ChannelState) -> None:
        marks = ", ".join("?" for _ in fields(ChannelState))
        self._execute(f"INSERT OR REPLACE INTO channels ({_CHANNEL}) VALUES ({marks})", astuple(channel))

    def health_records(self) -> Mapping[str, HealthRecord]:
        rows = self._execute("SELECT * FROM health")
        return {
            row["name"]: HealthRecord(
                Health(row["name"], bool(row["ok"]), row["detail"], row["still_works"]),
                row["since"],
                bool(row["notified"]),
            )
            for row in rows
        }

    def save_health(self, ailments: Iterable[HealthRecord], tidings: Iterable[Notification]) -> None:
        """Saves health records and their notifications in one transaction."""
        with transaction(self._db, self._execute):
            self._execute("DELETE FROM health")
            for one in ailments:
                health = one.health
                values = (
                    health.name, health.ok, self._redact(health.detail), health.still_works, one.since, one.notified,
                )  # fmt: skip
                self._execute("INSERT INTO health VALUES (?, ?, ?, ?, ?, ?)", values)
            self.add(tidings)

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with translate_errors("The database of runs"):
            return self._db.execute(sql, values).fetchall()
