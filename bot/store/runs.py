"""Stores runs, unread turn reports, money and journal in SQLite. A run's columns are named like the fields of `Run`."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.domain.change import DiffStat, Objection
from bot.domain.comment import CommentOutcome, CommentPlace, CommentRecord
from bot.domain.notification import Notification
from bot.domain.run import (
    CLOSED,
    ApprovedObjection,
    JournalEntry,
    Phase,
    Run,
    RunBudget,
    RunChecks,
    RunConsent,
    RunHold,
    RunSpend,
    RunStatus,
    RunTurns,
    TurnPurpose,
    Unshown,
    WaitReason,
)
from bot.domain.run_names import parse_turn_id, turn_id_for
from bot.domain.serialize import as_record, from_record
from bot.domain.spend import Spend, TotalSpend
from bot.domain.turn import Failure, TurnOutcome, TurnReport
from bot.domain.verification import Verification
from bot.errors import Damaged, MustRestart, Retryable
from bot.store.notifications import NotificationRecords
from bot.system.database import open_database, open_or_replace, transaction, translate_errors

if TYPE_CHECKING:
    from bot.store.statistics import StatisticSums

MIGRATIONS = sorted((Path(__file__).parent / "migrations").glob("*.sql"))

DAMAGED_ADVICE = "`treehand run` sets it aside, creates a new one, and restores its runs from their issues."
"""Ends the error message about a damaged database."""

_GROUPS: Mapping[str, type] = {
    "consent": RunConsent,
    "hold": RunHold,
    "checks": RunChecks,
    "turns": RunTurns,
    "spend": RunSpend,
    "budget": RunBudget,
    "status": RunStatus,
}
_NEWEST = "ordinal = (SELECT max(ordinal) FROM runs AS others WHERE others.key = runs.key)"
_FLAT = tuple(field.name for field in fields(Run) if field.name not in {*_GROUPS, "comments"})
_COLUMNS_OF = {
    group: tuple((field.name, f"{group}_{field.name}") for field in fields(kind)) for group, kind in _GROUPS.items()
}
"""Maps each group to its fields and their columns."""
_COLUMNS = (*_FLAT, *(column for pairs in _COLUMNS_OF.values() for _, column in pairs))
_JSON: Mapping[str, Any] = {
    "consent_accepted_comments": tuple[str, ...],
    "hold_objections": tuple[Objection, ...],
    "hold_allowed": tuple[ApprovedObjection, ...],
    "refusals": tuple[str, ...],
    "refused_users": tuple[str, ...],
    "unshown": tuple[Unshown, ...],
    "checks_verification": Verification | None,
    "diff_stat": DiffStat,
}
"""Columns that hold JSON."""
_OUTCOMES_SECONDS = 3600.0
_LAST_OUTCOMES = """
WITH RECURSIVE projects (project) AS (
    SELECT min(project) FROM turn_outcomes
    UNION ALL
    SELECT (SELECT min(project) FROM turn_outcomes WHERE turn_outcomes.project > projects.project) FROM projects
    WHERE project IS NOT NULL
)
SELECT turn_outcomes.* FROM projects CROSS JOIN turn_outcomes USING (project) WHERE at >= coalesce((
    SELECT at FROM turn_outcomes AS good WHERE good.project = projects.project AND failure = '' ORDER BY at DESC LIMIT 1
), 0.0) - ? ORDER BY id
"""
"""Reads by the index, project by project and back in time, so that its duration does not grow with the table."""
_UNRECORDED = """
SELECT turn_id, usd, tokens FROM turns WHERE at >= ? AND tokens > 0 AND NOT EXISTS (
    SELECT 1 FROM money WHERE (money.key, money.ordinal, money.turn) = (turns.key, turns.ordinal, turns.turn)
)
"""
_UNPRICED = "SELECT DISTINCT spend_unpriced FROM runs WHERE spend_unpriced != '' ORDER BY 1"
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
"""A kill right after a report was processed leaves an unused entry behind."""


class RunStore:
    def __init__(self, db: sqlite3.Connection, redact: Callable[[str], str] = str) -> None:
        self._db, self._redact = db, redact
        self.notifications = NotificationRecords(db, redact)
        self._active: tuple[object, Sequence[Run]] = (None, ())

    @classmethod
    def open(cls, path: Path, redact: Callable[[str], str] = str) -> "RunStore":
        """`redact` removes secrets from journal entries."""
        return cls(open_database(path, MIGRATIONS, lost=DAMAGED_ADVICE), redact)

    @classmethod
    def open_as_owner(cls, path: Path, redact: Callable[[str], str], *, at: float) -> "RunStore":
        """Opens the database for the daemon, which may replace a damaged one."""

        def opened() -> RunStore:
            store = cls.open(path, redact)
            store.ensure_readable(path)
            return store

        return open_or_replace(opened, at=at)

    def ensure_readable(self, path: Path) -> None:
        """Raises Damaged, and closes the database, if a row cannot be read as a run."""
        try:
            self.active()
            self.kept_reports()
        except (ValueError, MustRestart) as exc:
            self.close()
            raise Damaged(f"The database {path} is damaged ({exc}). {DAMAGED_ADVICE}", path=path) from exc

    def close(self) -> None:
        self._db.close()

    def statistic_sums(self) -> "StatisticSums":
        from bot.store.statistics import StatisticSums

        return StatisticSums(self._db)

    def is_writable(self) -> bool:
        """Could it be written to in this moment?"""
        try:
            with self._transaction():
                return True
        except (Retryable, MustRestart):
            return False

    def active(self) -> Sequence[Run]:
        """Read again after every write, here or by another process."""
        ((elsewhere,),) = self._execute("PRAGMA data_version")
        version = (elsewhere, self._db.total_changes)
        if self._active[0] != version:
            self._active = (version, tuple(self._runs("phase != 'done'")))
        return list(self._active[1])

    def ended_unshown(self) -> Sequence[Run]:
        """Returns the newest runs of issues that are over, and whose end a service refused to show."""
        return self._runs(f"phase = 'done' AND unshown != '[]' AND runs.{_NEWEST}")

    def ended_with_pull_request(self, project: str) -> Sequence[Run]:
        """Returns the newest runs of issues that are over because their pull request was closed."""
        return self._runs(
            f"phase = 'done' AND runs.project = ? AND runs.reason = ? AND runs.{_NEWEST}", project, CLOSED
        )

    def latest(self, *, ended_since: float) -> Sequence[Run]:
        """Returns active runs and those that ended recently."""
        return self._runs("phase != 'done' OR changed_at >= ?", ended_since)

    def all_runs(self) -> Sequence[Run]:
        """Every run there ever was: what names it, whether it is over, and since when. Nothing else of it is read."""
        rows = self._execute("SELECT key, project, ordinal, phase, changed_at FROM runs")
        return [Run(key, project, ordinal, Phase(phase), changed_at=at) for key, project, ordinal, phase, at in rows]

    def find_run(self, key: str) -> Run | None:
        """The newest run of an issue."""
        return next(reversed(self._runs("key = ?", key)), None)

    def find_with_cost(self, key: str) -> Run | None:
        """The newest run of an issue, for people: with what its running turn has cost so far."""
        run = self.find_run(key)
        return self.with_running_cost([run])[0] if run else None

    def with_running_cost(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Adds what turns have cost that are not in the ledger yet. These runs are shown, never saved."""
        costs = self.unrecorded()
        found = (costs.get(turn_id_for(run, run.turns.number), TotalSpend()) for run in runs)
        return [
            replace(run, spend=replace(run.spend, usd=run.spend.usd + more.usd, tokens=run.spend.tokens + more.tokens))
            if more.tokens and run.has_turn_in_flight
            else run
            for run, more in zip(runs, found, strict=True)
        ]

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
        outcome: TurnOutcome | None = None,
        notifications: Sequence[Notification] = (),
    ) -> None:
        with self._transaction():
            self._execute(_SAVE, _row_of(run))
            self._save_comments(run)
            self.notifications.add(notifications)
            for text in notes:
                entry = (run.key, run.ordinal, at, self._redact(text))
                self._execute("INSERT INTO journal (key, ordinal, at, text) VALUES (?, ?, ?, ?)", entry)
            if spend:
                self._execute(
                    "INSERT INTO money (key, ordinal, turn, project, at, usd, tokens, seconds)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (run.key, run.ordinal, spend.turn, run.project, spend.at, spend.usd, spend.tokens, spend.seconds),
                )
            if outcome:
                self._save_outcome(outcome)

    def _save_outcome(self, one: TurnOutcome) -> None:
        self._execute(
            "INSERT INTO turn_outcomes (project, key, ordinal, turn, begun_at, at, failure, detail)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (one.project, one.key, one.ordinal, one.turn, one.begun_at, one.at, one.failure, self._redact(one.detail)),
        )

    def turn_outcomes(self) -> Sequence[TurnOutcome]:
        """Returns failed turns of each project since its last success, oldest first, within the time that counts."""
        rows = self._execute(_LAST_OUTCOMES, (_OUTCOMES_SECONDS,))
        columns = [field.name for field in fields(TurnOutcome)]
        return [
            TurnOutcome(**{**{name: row[name] for name in columns}, "failure": Failure(row["failure"])}) for row in rows
        ]

    def keep_report(self, turn_id: str, report: TurnReport, *, at: float) -> None:
        """Its cost counts as spent from now on, until the ledger has it."""
        values = (turn_id, at, json.dumps(as_record(report)), *parse_turn_id(turn_id), report.usd or 0.0, report.tokens)
        columns = "turn_id, at, report, key, ordinal, turn, usd, tokens"
        self._execute(f"INSERT OR REPLACE INTO turns ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def unrecorded(self, *, since: float = 0.0) -> Mapping[str, TotalSpend]:
        """Returns what turns have cost that are not in the ledger yet, by turn id: running ones, above all."""
        rows = self._execute(_UNRECORDED, (since,))
        return {row["turn_id"]: TotalSpend(row["usd"], row["tokens"]) for row in rows}

    def kept_reports(self) -> Mapping[str, TurnReport]:
        """Returns the stored reports by turn id. Deletes reports that were not read for a long time."""
        self._execute("DELETE FROM turns WHERE at < (SELECT max(at) FROM turns) - ?", (_TURNS_KEPT_SECONDS,))
        rows = self._execute("SELECT turn_id, report FROM turns ORDER BY at")
        return {row["turn_id"]: from_record(TurnReport, json.loads(row["report"])) for row in rows}

    def forget_report(self, turn_id: str) -> None:
        self._execute("DELETE FROM turns WHERE turn_id = ?", (turn_id,))

    def take_over(self, run: Run, *, at: float) -> None:
        """Adds costs of other daemons to the ledger as rows of their own."""
        with self._transaction():
            mine = self._execute(
                "SELECT spend_usd, spend_tokens, turns_ended, spend_seconds FROM runs WHERE key = ? AND ordinal = ?",
                (run.key, run.ordinal),
            )
            known = tuple(mine[0]) if mine else (0.0, 0, 0, 0.0)
            # a later run implies that earlier ones are over, even if their end was not recorded
            over = "UPDATE runs SET phase = 'done' WHERE key = ? AND ordinal < ? AND phase != 'done'"
            self._execute(over, (run.key, run.ordinal))
            self._execute(_SAVE, _row_of(run))
            self._save_comments(run)
            theirs = (run.spend.usd, run.spend.tokens, run.turns.ended, run.spend.seconds)
            more = [max(now - then, type(now)()) for now, then in zip(theirs, known, strict=True)]
            self._execute(
                "INSERT INTO money (key, ordinal, turn, project, at, usd, tokens, turns, seconds)"
                " SELECT ?1, ?2, min(coalesce(min(turn), 0), 0) - 1, ?3, ?4, ?5, ?6, ?7, ?8 FROM money"
                " WHERE key = ?1 AND ordinal = ?2",
                (run.key, run.ordinal, run.project, at, *more),
            )

    def spent(self, *, since: float) -> float:
        """Returns dollars, with those of running turns."""
        ((usd,),) = self._execute("SELECT coalesce(sum(usd), 0.0) FROM money WHERE at >= ?", (since,))
        return float(usd) + sum(one.usd for one in self.unrecorded(since=since).values())

    def spent_by_issue(self) -> Mapping[str, TotalSpend]:
        rows = self._execute(
            "SELECT key, sum(usd), sum(tokens), sum(turns), sum(seconds) FROM money"
            " WHERE key IN (SELECT key FROM runs WHERE phase != 'done') GROUP BY key"
        )
        return {key: TotalSpend(usd, tokens, turns, seconds) for key, usd, tokens, turns, seconds in rows}

    def cost_by(self, what: str) -> Sequence[tuple[str, float, int]]:
        """Returns name, dollars and tokens by `day`, `project`, `issue` or `person` who asked."""
        column = {"day": "date(at, 'unixepoch')", "project": "project", "issue": "key", "person": _PERSON}[what]
        rows = self._execute(f"SELECT {column}, sum(usd), sum(tokens) FROM money GROUP BY 1 ORDER BY 1")
        return [(str(name), float(usd), int(tokens)) for name, usd, tokens in rows]

    def unpriced_models(self) -> Sequence[str]:
        """Returns the models that were used without a price, so that money is a guess."""
        return [model for (model,) in self._execute(_UNPRICED)]

    def typical_seconds(self) -> float:
        """Returns the median duration of recent successful turns, from start to report; 0 if there is none."""
        rows = self._execute(
            "SELECT at - begun_at FROM turn_outcomes WHERE failure = '' ORDER BY id DESC LIMIT ?", (_TYPICAL,)
        )
        return float(sorted(seconds for (seconds,) in rows)[len(rows) // 2]) if rows else 0.0

    def spending(self, run: Run) -> Sequence[Spend]:
        """Turn by turn."""
        rows = self._execute(
            "SELECT turn, at, usd, tokens, seconds FROM money WHERE key = ? AND ordinal = ? ORDER BY at, turn",
            (run.key, run.ordinal),
        )
        return [Spend(*row) for row in rows]

    def journal(self, run: Run) -> Sequence[JournalEntry]:
        rows = self._execute(
            "SELECT at, text FROM journal WHERE key = ? AND ordinal = ? ORDER BY id", (run.key, run.ordinal)
        )
        return [JournalEntry(row["at"], row["text"]) for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with transaction(self._db, self._execute):
            yield

    def _execute(self, sql: str, values: Any = ()) -> list[sqlite3.Row]:
        """A full disk or a busy file passes; nothing was changed, and the next tick tries again."""
        with translate_errors("The database of runs"):
            return self._db.execute(sql, values).fetchall()

    def _save_comments(self, run: Run) -> None:
        self._execute("DELETE FROM comment_records WHERE key = ? AND ordinal = ?", (run.key, run.ordinal))
        for row in run.comments:
            values = (run.key, run.ordinal, row.comment, row.place, row.turn, row.outcome, row.commit, row.reason)
            self._execute("INSERT INTO comment_records VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _runs(self, condition: str, *values: object) -> Sequence[Run]:
        rows = self._execute(f"SELECT * FROM runs WHERE {condition} ORDER BY rowid", values)
        heard = self._comments(condition, *values)
        return [_run_from(row, heard.get((row["key"], row["ordinal"]), [])) for row in rows]

    def _comments(self, condition: str, *values: object) -> Mapping[tuple[str, int], list[CommentRecord]]:
        by_run: dict[tuple[str, int], list[CommentRecord]] = {}
        query = f"SELECT comment_records.* FROM comment_records JOIN runs USING (key, ordinal) WHERE {condition}"
        for row in self._execute(query, values):
            one = CommentRecord(
                row["comment"],
                CommentPlace(row["place"]),
                row["turn"],
                CommentOutcome(row["outcome"]),
                row["commit_id"],
                row["reason"],
            )
            by_run.setdefault((row["key"], row["ordinal"]), []).append(one)
        return by_run


def _row_of(run: Run) -> Mapping[str, Any]:
    row = {name: getattr(run, name) for name in _FLAT}
    for group, pairs in _COLUMNS_OF.items():
        values = getattr(run, group)
        row |= {column: getattr(values, field) for field, column in pairs}
    return row | {column: json.dumps(as_record(row[column])) for column in _JSON}


@lru_cache(maxsize=1024)
def _from_json(column: str, text: str) -> Any:
    """Nearly always the empty value, and read for every run in every tick."""
    return from_record(_JSON[column], json.loads(text))


def _run_from(row: sqlite3.Row, comments: Sequence[CommentRecord]) -> Run:
    values = {column: row[column] for column in _COLUMNS}
    values |= {column: _from_json(column, values[column]) for column in _JSON}
    groups = {
        group: kind(**{field: values[column] for field, column in _COLUMNS_OF[group]})
        for group, kind in _GROUPS.items()
    }
    flat = {name: values[name] for name in _FLAT}
    typed = {
        "phase": Phase(values["phase"]),
        "wait_reason": WaitReason(values["wait_reason"]),
        "purpose": TurnPurpose(values["purpose"]),
        "plan_approved": bool(values["plan_approved"]),
        "reopened": bool(values["reopened"]),
        "comments": tuple(comments),
    }
    return Run(**{**flat, **typed, **groups})
