"""Opens, migrates, copies and replaces SQLite files.

Rule: a damaged file is never used or deleted. Only its sole owner sets it aside.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from bot.errors import CannotStart, Damaged, MustRestart, Retryable
from bot.system.disk import Disk, is_full_disk
from bot.system.locks import exclusive_lock, unusable_folder

T = TypeVar("T")

log = logging.getLogger(__name__)

_DAMAGED = ".damaged-"
_FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""The database first: without it SQLite ignores the other files."""
_MAX_LISTED = 3
"""Number of problems that an error lists."""


def open_database(path: Path, scripts: Sequence[Path], *, lost: str = "") -> sqlite3.Connection:
    """Returns a checked and migrated database in WAL mode, durable at every commit.

    `lost` is the advice in the error if it is damaged.
    """
    try:
        with exclusive_lock(path.with_suffix(".lock")):  # two processes may create it at the same moment
            return _open(path, scripts, lost)
    except OSError as problem:
        raise unusable_folder(path.parent, problem) from problem


def open_or_replace(opening: Callable[[], T], *, at: float) -> T:
    """Renames a damaged database and creates a new one. Only its sole owner may call this."""
    try:
        return opening()
    except Damaged as found:
        log.warning("damaged database: %s", found)
        log.warning("database set aside path=%s", _set_aside(found.path, at))
        return opening()


def copy_database(path: Path, to: Path) -> None:
    """Makes a consistent copy, also while others write."""
    try:
        source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
        with closing(source), closing(sqlite3.connect(to)) as copy:
            source.backup(copy)
    except sqlite3.DatabaseError as exc:
        raise CannotStart(f"The database {path} cannot be copied: {exc}.") from exc


def list_damaged_copies(path: Path) -> Sequence[Path]:
    """Databases that were set aside, oldest first."""
    ours = path.parent.glob(f"{path.name}{_DAMAGED}*")
    return sorted(one for one in ours if not one.name.endswith(_FILE_SUFFIXES[1:]))


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Translates SQLite errors: Retryable for a full disk or busy file, MustRestart for damage."""
    try:
        yield
    except sqlite3.DatabaseError as exc:
        if _is_damage(exc):
            raise MustRestart(f"{what} is damaged: {exc}. Treehand stops; the next start replaces it.") from exc
        if isinstance(exc, sqlite3.OperationalError):
            raise Retryable(f"{what} cannot be used right now: {exc}.") from exc
        raise


@contextmanager
def transaction(db: sqlite3.Connection, execute: Callable[[str], object]) -> Iterator[None]:
    """Commits everything or nothing. `execute` is the owner's method, which translates errors."""
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
        return isinstance(exc, sqlite3.OperationalError)  # raised by Python: a text column that is not UTF-8
    return code & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _open(path: Path, scripts: Sequence[Path], lost: str) -> sqlite3.Connection:
    _refuse_truncated(path, lost)
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
        if is_full_disk(exc) or Disk(path.parent, 0).level().is_full:
            raise CannotStart(
                f"The disk of {path} is full. Free some space there; then start again: nothing is lost."
            ) from exc
        raise CannotStart(
            f"The database {path} cannot be used: {exc}. Check its disk: it needs free space, and must allow reading "
            "and writing. Then start again."
        ) from exc
    except CannotStart:
        db.close()
        raise
    return db


def _refuse_truncated(path: Path, lost: str) -> None:
    """SQLite would treat an emptied file as new and delete the changes in its -wal file."""
    changes = path.with_name(f"{path.name}-wal")
    emptied = not path.exists() or not path.stat().st_size
    if emptied and changes.exists() and changes.stat().st_size:
        raise Damaged(f"The database {path} is damaged (it is empty, but was not before). {lost}", path=path)


def _check(db: sqlite3.Connection, path: Path, lost: str) -> None:
    wrong = [str(row[0]) for row in db.execute("PRAGMA quick_check")]
    if wrong != ["ok"]:
        what = " ".join("; ".join(wrong[:_MAX_LISTED]).split())
        raise Damaged(f"The database {path} is damaged ({what}). {lost}", path=path)


def _set_aside(path: Path, at: float) -> Path:
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}{_DAMAGED}{stamp}")
    for end in _FILE_SUFFIXES:
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
            "Upgrade Treehand, or set another state_dir."
        )
    for number, script in enumerate(ordered[applied:], start=applied + 1):
        db.executescript(f"BEGIN IMMEDIATE;\n{script.read_text()}\nPRAGMA user_version = {number};\nCOMMIT;")
