"""One SQLite file: how to open it, how its schema moves forward, and what becomes of a damaged one.

Rule: nothing is done with a file that is not whole. Only who owns it alone sets it aside, and never removes it.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from bot.errors import CannotStart, Damaged, MustRestart, Retryable
from bot.system.locks import alone, unusable

T = TypeVar("T")

log = logging.getLogger(__name__)

_DAMAGED = ".damaged-"
_COMPANIONS = ("", "-wal", "-shm", "-journal")
"""The file itself first: without it SQLite takes no notice of the others."""
_NAMED = 3
"""So many of the things that are wrong are named."""


def open_database(path: Path, scripts: Sequence[Path], *, lost: str = "") -> sqlite3.Connection:
    """Ready to use: checked, migrated, in WAL mode, durable at every commit. `lost`: what to do about a damaged one."""
    try:
        with alone(path.with_suffix(".lock")):  # two processes may be the first ones ever, at the same moment
            return _opened(path, scripts, lost)
    except OSError as problem:
        raise unusable(path.parent, problem) from problem


def open_or_renew(opening: Callable[[], T], *, at: float) -> T:
    """For the only owner of what is opened: a damaged one is set aside whole, and a new one begun."""
    try:
        return opening()
    except Damaged as found:
        log.warning("%s", found)
        log.warning("set aside as %s", _set_aside(found.path, at))
        return opening()


def copy_database(path: Path, to: Path) -> None:
    """As it is between two writes, also while others write."""
    try:
        source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
        with closing(source), closing(sqlite3.connect(to)) as copy:
            source.backup(copy)
    except sqlite3.DatabaseError as exc:
        raise CannotStart(f"The database {path} cannot be copied: {exc}.") from exc


def damaged_copies(path: Path) -> Sequence[Path]:
    """Those that were set aside, oldest first."""
    ours = path.parent.glob(f"{path.name}{_DAMAGED}*")
    return sorted(one for one in ours if not one.name.endswith(_COMPANIONS[1:]))


@contextmanager
def using(what: str) -> Iterator[None]:
    """SQLite's troubles in our words: a full disk or a busy file passes, damage does not."""
    try:
        yield
    except sqlite3.DatabaseError as exc:
        if _is_damage(exc):
            raise MustRestart(f"{what} is damaged: {exc}. I end here; the next start sees to it.") from exc
        if isinstance(exc, sqlite3.OperationalError):
            raise Retryable(f"{what} cannot be used right now: {exc}.") from exc
        raise


@contextmanager
def whole(db: sqlite3.Connection, execute: Callable[[str], object]) -> Iterator[None]:
    """All that is changed within, or nothing. `execute` is how its owner speaks to it, errors in our words included."""
    execute("BEGIN IMMEDIATE")
    try:
        yield
        execute("COMMIT")
    except BaseException:
        db.rollback()
        raise


def _is_damage(exc: sqlite3.Error) -> bool:
    code = getattr(exc, "sqlite_errorcode", None)
    if code is None:
        return isinstance(exc, sqlite3.OperationalError)  # not SQLite's own: a text that is none
    return code & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _opened(path: Path, scripts: Sequence[Path], lost: str) -> sqlite3.Connection:
    _refuse_emptied(path, lost)
    db = sqlite3.connect(path, isolation_level=None, timeout=10)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        _check(db, path, lost)
        _migrate(db, path, scripts)
    except sqlite3.DatabaseError as exc:
        db.close()
        if _is_damage(exc):
            raise Damaged(f"The database {path} is damaged ({exc}). {lost}", path=path) from exc
        raise CannotStart(f"The database {path} cannot be used: {exc}.") from exc
    except CannotStart:
        db.close()
        raise
    return db


def _refuse_emptied(path: Path, lost: str) -> None:
    """SQLite would take it for a new one, and remove the changes that lie beside it."""
    changes = path.with_name(f"{path.name}-wal")
    emptied = not path.exists() or not path.stat().st_size
    if emptied and changes.exists() and changes.stat().st_size:
        raise Damaged(f"The database {path} is damaged (it is empty, and was not). {lost}", path=path)


def _check(db: sqlite3.Connection, path: Path, lost: str) -> None:
    wrong = [str(row[0]) for row in db.execute("PRAGMA quick_check")]
    if wrong != ["ok"]:
        what = " ".join("; ".join(wrong[:_NAMED]).split())
        raise Damaged(f"The database {path} is damaged ({what}). {lost}", path=path)


def _set_aside(path: Path, at: float) -> Path:
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}{_DAMAGED}{stamp}")
    for end in _COMPANIONS:
        part = path.with_name(path.name + end)
        if part.exists():
            part.rename(aside.with_name(aside.name + end))
    return aside


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
