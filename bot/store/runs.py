"""Runs, turns that are to be taken in, money and journal in SQLite. The columns of a run are the fields of `Run`."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.domain.change import Objection
from bot.domain.comment import Heard, Outcome, Place
from bot.domain.ending import Ending
from bot.domain.extent import Extent
from bot.domain.journal import Entry
from bot.domain.notification import Tiding
from bot.domain.run import Cause, Errand, Overruled, Phase, Run
from bot.domain.serialize import as_record, from_record
from bot.domain.spend import Spend, Spent
from bot.domain.turn import Failure, TurnReport
from bot.domain.verification import Verification
from bot.errors import Damaged, MustRestart, Retryable
from bot.store.notifications import Tidings
from bot.system.database import open_database, open_or_renew, using, whole

if TYPE_CHECKING:
    from bot.store.sums import Sums

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"))

LOST = "`treehand run` sets it aside, begins a new one, and finds its runs again on their issues."
"""What becomes of one that is damaged."""

_COLUMNS = tuple(field.name for field in fields(Run) if field.name != "heard")
_LISTS: Mapping[str, Any] = {
    "held": tuple[Objection, ...],
    "allowed": tuple[Overruled, ...],
    "refusals": tuple[str, ...],
    "strangers": tuple[str, ...],
    "verification": Verification | None,
    "extent": Extent,
}
_ENDINGS_SECONDS = 3600.0
_LAST_ENDINGS = """
WITH RECURSIVE projects (project) AS (
    SELECT min(project) FROM endings
    UNION ALL
    SELECT (SELECT min(project) FROM endings WHERE endings.project > projects.project) FROM projects
    WHERE project IS NOT NULL
)
SELECT endings.* FROM projects CROSS JOIN endings USING (project) WHERE at >= coalesce((
    SELECT at FROM endings AS good WHERE good.project = projects.project AND failure = '' ORDER BY at DESC LIMIT 1
), 0.0) - ? ORDER BY id
"""
"""From one project to the next by the index, and back in time from its end: it takes no longer the more there are."""
_TYPICAL = 50
_PERSON = (
    "coalesce((SELECT nullif(person, '') FROM runs WHERE runs.key = money.key AND runs.ordinal = money.ordinal),"
    " 'somebody')"
)
_SAVE = (
    f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
    f" ON CONFLICT (key, ordinal) DO UPDATE SET {', '.join(f'{name} = :{name}' for name in _COLUMNS)}"
)

_TURNS_KEPT_SECONDS = 30 * 86400.0
"""A kill right after a turn was taken in leaves its entry behind: nobody asks for it any more."""


class RunStore:
    def __init__(self, db: sqlite3.Connection, redact: Callable[[str], str] = str) -> None:
        self._db, self._redact = db, redact
        self.tidings = Tidings(db, redact)
        self._active: tuple[object, Sequence[Run]] = (None, ())

    @classmethod
    def open(cls, path: Path, redact: Callable[[str], str] = str) -> "RunStore":
        """`redact` takes out of the journal what is nobody's business."""
        return cls(open_database(path, MIGRATIONS, lost=LOST), redact)

    @classmethod
    def own(cls, path: Path, redact: Callable[[str], str], *, at: float) -> "RunStore":
        """For the daemon, which may begin a new one in place of one that is damaged."""

        def opened() -> RunStore:
            store = cls.open(path, redact)
            store.ensure_readable(path)
            return store

        return open_or_renew(opened, at=at)

    def ensure_readable(self, path: Path) -> None:
        """What is whole in SQLite's eyes may make no sense in ours: raises Damaged, and is closed then."""
        try:
            self.active()
            self.kept()
        except (ValueError, MustRestart) as exc:
            self.close()
            raise Damaged(f"The database {path} is damaged ({exc}). {LOST}", path=path) from exc

    def close(self) -> None:
        self._db.close()

    def sums(self) -> "Sums":
        from bot.store.sums import Sums

        return Sums(self._db)

    def is_writable(self) -> bool:
        """Could it be written to in this moment?"""
        try:
            with self._transaction():
                return True
        except (Retryable, MustRestart):
            return False

    def active(self) -> Sequence[Run]:
        """Read anew whenever anything was written since, here or by another process."""
        ((elsewhere,),) = self._execute("PRAGMA data_version")
        version = (elsewhere, self._db.total_changes)
        if self._active[0] != version:
            self._active = (version, tuple(self._runs("phase != 'done'")))
        return list(self._active[1])

    def latest(self, *, ended_since: float) -> Sequence[Run]:
        """What people want to see: everything under way, and what ended lately."""
        return self._runs("phase != 'done' OR changed_at >= ?", ended_since)

    def register(self) -> Sequence[Run]:
        """Every run there ever was: what names it, whether it is over, and since when. Nothing else of it is read."""
        rows = self._execute("SELECT key, project, ordinal, phase, changed_at FROM runs")
        return [Run(key, project, ordinal, Phase(phase), changed_at=at) for key, project, ordinal, phase, at in rows]

    def find_run(self, key: str) -> Run | None:
        """The newest run of an issue."""
        return next(reversed(self._runs("key = ?", key)), None)

    def last_ordinal(self, key: str) -> int:
        ((last,),) = self._execute("SELECT coalesce(max(ordinal), 0) FROM runs WHERE key = ?", (key,))
        return int(last)

    def save(
        self,
        run: Run,
        *,
        at: float,
        notes: Sequence[str] = (),
        spend: Spend | None = None,
        ending: Ending | None = None,
        tidings: Sequence[Tiding] = (),
    ) -> None:
        with self._transaction():
            self._execute(_SAVE, _row_of(run))
            self._save_heard(run)
            self.tidings.add(tidings)
            for text in notes:
                entry = (run.key, run.ordinal, at, self._redact(text))
                self._execute("INSERT INTO journal (key, ordinal, at, text) VALUES (?, ?, ?, ?)", entry)
            if spend:
                self._execute(
                    "INSERT INTO money (key, ordinal, turn, project, at, usd, tokens, seconds)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (run.key, run.ordinal, spend.turn, run.project, spend.at, spend.usd, spend.tokens, spend.seconds),
                )
            if ending:
                self._save_ending(ending)

    def _save_ending(self, one: Ending) -> None:
        self._execute(
            "INSERT INTO endings (project, key, ordinal, turn, begun_at, at, failure, detail)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (one.project, one.key, one.ordinal, one.turn, one.begun_at, one.at, one.failure, self._redact(one.detail)),
        )

    def endings(self) -> Sequence[Ending]:
        """Of every project, oldest first: those since its last good one, and within the time before that counts."""
        rows = self._execute(_LAST_ENDINGS, (_ENDINGS_SECONDS,))
        columns = [field.name for field in fields(Ending)]
        return [Ending(**{**{name: row[name] for name in columns}, "failure": Failure(row["failure"])}) for row in rows]

    def keep(self, turn_id: str, report: TurnReport, *, at: float) -> None:
        values = (turn_id, at, json.dumps(as_record(report)))
        self._execute("INSERT OR REPLACE INTO turns (turn_id, at, report) VALUES (?, ?, ?)", values)

    def kept(self) -> Mapping[str, TurnReport]:
        """By turn id. What nobody has asked for in a long time is thrown away."""
        self._execute("DELETE FROM turns WHERE at < (SELECT max(at) FROM turns) - ?", (_TURNS_KEPT_SECONDS,))
        rows = self._execute("SELECT turn_id, report FROM turns ORDER BY at")
        return {row["turn_id"]: from_record(TurnReport, json.loads(row["report"])) for row in rows}

    def forget(self, turn_id: str) -> None:
        self._execute("DELETE FROM turns WHERE turn_id = ?", (turn_id,))

    def take_over(self, run: Run, *, at: float) -> None:
        """What others spent on it gets rows of its own in the ledger, below those of our turns."""
        with self._transaction():
            mine = self._execute(
                "SELECT spent_usd, tokens, ended, seconds FROM runs WHERE key = ? AND ordinal = ?",
                (run.key, run.ordinal),
            )
            known = tuple(mine[0]) if mine else (0.0, 0, 0, 0.0)
            # a later run says that earlier ones are over, also where nobody could note that any more
            over = "UPDATE runs SET phase = 'done' WHERE key = ? AND ordinal < ? AND phase != 'done'"
            self._execute(over, (run.key, run.ordinal))
            self._execute(_SAVE, _row_of(run))
            self._save_heard(run)
            theirs = (run.spent_usd, run.tokens, run.ended, run.seconds)
            more = [max(now - then, type(now)()) for now, then in zip(theirs, known, strict=True)]
            self._execute(
                "INSERT INTO money (key, ordinal, turn, project, at, usd, tokens, turns, seconds)"
                " SELECT ?1, ?2, min(coalesce(min(turn), 0), 0) - 1, ?3, ?4, ?5, ?6, ?7, ?8 FROM money"
                " WHERE key = ?1 AND ordinal = ?2",
                (run.key, run.ordinal, run.project, at, *more),
            )

    def spent(self, *, since: float) -> float:
        ((usd,),) = self._execute("SELECT coalesce(sum(usd), 0.0) FROM money WHERE at >= ?", (since,))
        return float(usd)

    def spent_by_issue(self) -> Mapping[str, Spent]:
        rows = self._execute(
            "SELECT key, sum(usd), sum(tokens), sum(turns), sum(seconds) FROM money"
            " WHERE key IN (SELECT key FROM runs WHERE phase != 'done') GROUP BY key"
        )
        return {key: Spent(usd, tokens, turns, seconds) for key, usd, tokens, turns, seconds in rows}

    def cost_by(self, what: str) -> Sequence[tuple[str, float, int]]:
        """What was spent by `day`, `project`, `issue` or `person` who asked: name, dollars, tokens."""
        column = {"day": "date(at, 'unixepoch')", "project": "project", "issue": "key", "person": _PERSON}[what]
        rows = self._execute(f"SELECT {column}, sum(usd), sum(tokens) FROM money GROUP BY 1 ORDER BY 1")
        return [(str(name), float(usd), int(tokens)) for name, usd, tokens in rows]

    def typical_seconds(self) -> float:
        """How long a turn takes, from start to report: the middle one of the latest good ones; 0: there is none."""
        rows = self._execute(
            "SELECT at - begun_at FROM endings WHERE failure = '' ORDER BY id DESC LIMIT ?", (_TYPICAL,)
        )
        return float(sorted(seconds for (seconds,) in rows)[len(rows) // 2]) if rows else 0.0

    def spending(self, run: Run) -> Sequence[Spend]:
        """Turn by turn."""
        rows = self._execute(
            "SELECT turn, at, usd, tokens, seconds FROM money WHERE key = ? AND ordinal = ? ORDER BY at, turn",
            (run.key, run.ordinal),
        )
        return [Spend(*row) for row in rows]

    def journal(self, run: Run) -> Sequence[Entry]:
        rows = self._execute(
            "SELECT at, text FROM journal WHERE key = ? AND ordinal = ? ORDER BY id", (run.key, run.ordinal)
        )
        return [Entry(row["at"], row["text"]) for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with whole(self._db, self._execute):
            yield

    def _execute(self, sql: str, values: Any = ()) -> list[sqlite3.Row]:
        """A full disk or a busy file passes; nothing was changed, and the next tick tries again."""
        with using("The database of runs"):
            return self._db.execute(sql, values).fetchall()

    def _save_heard(self, run: Run) -> None:
        self._execute("DELETE FROM heard WHERE key = ? AND ordinal = ?", (run.key, run.ordinal))
        for row in run.heard:
            values = (run.key, run.ordinal, row.comment, row.place, row.turn, row.outcome, row.commit, row.reason)
            self._execute("INSERT INTO heard VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _runs(self, condition: str, *values: object) -> Sequence[Run]:
        rows = self._execute(f"SELECT * FROM runs WHERE {condition} ORDER BY rowid", values)
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
    return {
        name: json.dumps(as_record(getattr(run, name))) if name in _LISTS else getattr(run, name) for name in _COLUMNS
    }


@lru_cache(maxsize=1024)
def _list_from(name: str, text: str) -> Any:
    """Nearly always the empty one, and read for every run at every look."""
    return from_record(_LISTS[name], json.loads(text))


def _run_from(row: sqlite3.Row, heard: Sequence[Heard]) -> Run:
    plain = {name: row[name] for name in _COLUMNS}
    typed = {
        "phase": Phase(row["phase"]),
        "cause": Cause(row["cause"]),
        "errand": Errand(row["errand"]),
        "approved": bool(row["approved"]),
        "heard": tuple(heard),
        **{name: _list_from(name, row[name]) for name in _LISTS},
    }
    return Run(**{**plain, **typed})
