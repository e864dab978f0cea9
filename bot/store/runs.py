"""Runs, money and journal in SQLite. The columns of a run are the fields of `Run`."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bot.database import open_database
from bot.domain.comment import Heard, Outcome, Place
from bot.domain.run import Cause, Errand, Overruled, Phase, Run
from bot.domain.spend import Spend, Spent
from bot.domain.turn import Objection
from bot.errors import Retryable

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"))

_COLUMNS = tuple(field.name for field in fields(Run) if field.name != "heard")
_SAVE = (
    f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
    f" ON CONFLICT (key, ordinal) DO UPDATE SET {', '.join(f'{name} = :{name}' for name in _COLUMNS)}"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal."""

    at: float
    text: str


class RunStore:
    def __init__(self, db: sqlite3.Connection, redact: Callable[[str], str] = str) -> None:
        self._db, self._redact = db, redact

    @classmethod
    def open(cls, path: Path, redact: Callable[[str], str] = str) -> "RunStore":
        """`redact` takes out of the journal what is nobody's business."""
        return cls(open_database(path, MIGRATIONS), redact)

    def close(self) -> None:
        self._db.close()

    def active(self) -> Sequence[Run]:
        return self._runs("phase != 'done'")

    def latest(self, *, ended_since: float) -> Sequence[Run]:
        """What people want to see: everything under way, and what ended lately."""
        return self._runs("phase != 'done' OR changed_at >= ?", ended_since)

    def find_run(self, key: str) -> Run | None:
        """The newest run of an issue."""
        return next(reversed(self._runs("key = ?", key)), None)

    def last_ordinal(self, key: str) -> int:
        (last,) = self._execute("SELECT coalesce(max(ordinal), 0) FROM runs WHERE key = ?", (key,)).fetchone()
        return int(last)

    def save(self, run: Run, *, at: float, notes: Sequence[str] = (), spend: Spend | None = None) -> None:
        with self._transaction():
            self._execute(_SAVE, _row_of(run))
            self._save_heard(run)
            for text in notes:
                entry = (run.key, run.ordinal, at, self._redact(text))
                self._execute("INSERT INTO journal (key, ordinal, at, text) VALUES (?, ?, ?, ?)", entry)
            if spend:
                self._execute(
                    "INSERT INTO money VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (run.key, run.ordinal, spend.turn, run.project, spend.at, spend.usd, spend.tokens),
                )

    def spent(self, *, since: float) -> float:
        (usd,) = self._execute("SELECT coalesce(sum(usd), 0.0) FROM money WHERE at >= ?", (since,)).fetchone()
        return float(usd)

    def spent_by_issue(self) -> Mapping[str, Spent]:
        rows = self._execute(
            "SELECT key, sum(usd), sum(tokens) FROM money"
            " WHERE key IN (SELECT key FROM runs WHERE phase != 'done') GROUP BY key"
        )
        return {key: Spent(usd, tokens) for key, usd, tokens in rows}

    def cost_by(self, what: str) -> Sequence[tuple[str, float, int]]:
        """What was spent by `day`, `project` or `issue`: name, dollars, tokens."""
        column = {"day": "date(at, 'unixepoch')", "project": "project", "issue": "key"}[what]
        rows = self._execute(f"SELECT {column}, sum(usd), sum(tokens) FROM money GROUP BY 1 ORDER BY 1")
        return [(str(name), float(usd), int(tokens)) for name, usd, tokens in rows]

    def journal(self, run: Run) -> Sequence[Entry]:
        rows = self._execute(
            "SELECT at, text FROM journal WHERE key = ? AND ordinal = ? ORDER BY id", (run.key, run.ordinal)
        )
        return [Entry(row["at"], row["text"]) for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            self._db.rollback()
            raise

    def _execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        """A full disk or a busy file passes; nothing was changed, and the next tick tries again."""
        try:
            return self._db.execute(sql, values)
        except sqlite3.OperationalError as exc:
            raise Retryable(f"The database of runs cannot be used right now: {exc}.") from exc

    def _save_heard(self, run: Run) -> None:
        self._execute("DELETE FROM heard WHERE key = ? AND ordinal = ?", (run.key, run.ordinal))
        for row in run.heard:
            values = (run.key, run.ordinal, row.comment, row.place, row.turn, row.outcome, row.commit, row.reason)
            self._execute("INSERT INTO heard VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _runs(self, condition: str, *values: object) -> Sequence[Run]:
        rows = self._execute(f"SELECT * FROM runs WHERE {condition} ORDER BY rowid", values).fetchall()
        heard = self._heard(condition, *values)
        return [_run_from(row, heard.get((row["key"], row["ordinal"]), [])) for row in rows]

    def _heard(self, condition: str, *values: object) -> Mapping[tuple[str, int], list[Heard]]:
        by_run: dict[tuple[str, int], list[Heard]] = {}
        query = f"SELECT heard.* FROM heard JOIN runs USING (key, ordinal) WHERE {condition}"
        for row in self._execute(query, values):
            one = Heard(
                row["comment"],
                Place(row["place"]),
                row["turn"],
                Outcome(row["outcome"]),
                row["commit_id"],
                row["reason"],
            )
            by_run.setdefault((row["key"], row["ordinal"]), []).append(one)
        return by_run


def _row_of(run: Run) -> Mapping[str, Any]:
    lists = {
        "held": [asdict(one) for one in run.held],
        "allowed": [asdict(one) for one in run.allowed],
        "refusals": run.refusals,
        "strangers": run.strangers,
    }
    return {name: json.dumps(lists[name]) if name in lists else getattr(run, name) for name in _COLUMNS}


def _run_from(row: sqlite3.Row, heard: Sequence[Heard]) -> Run:
    plain = {name: row[name] for name in _COLUMNS}
    typed = {
        "phase": Phase(row["phase"]),
        "cause": Cause(row["cause"]),
        "errand": Errand(row["errand"]),
        "approved": bool(row["approved"]),
        "heard": tuple(heard),
        "held": tuple(Objection(**one) for one in json.loads(row["held"])),
        "allowed": tuple(Overruled(Objection(**one["objection"]), one["by"]) for one in json.loads(row["allowed"])),
        "refusals": tuple(json.loads(row["refusals"])),
        "strangers": tuple(json.loads(row["strangers"])),
    }
    return Run(**{**plain, **typed})
