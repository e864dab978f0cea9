"""Records which repository each project of a state directory belongs to, and refuses every other one.

A state directory keeps its data by the names of projects, and two repositories may get the same name. So the first
repository that uses a name there is written down, and compared with that of the settings before each use.

Rule: a refusal changes nothing. A record is replaced only by one of the same repository, or when a person says so.
"""

import contextlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bot.errors import BotError, CannotStart
from bot.git.user_repository import first_commit, git_dir_of, has_commit
from bot.system.locks import unusable_folder
from bot.system.private_files import refuse_foreign_folder
from bot.workspace.paths import slug_for

_FOLDER = "repositories"
_API_PREFIX = "api."
_NO_HOST = "unknown-host"
"""Stands for an address that is no URL, so that no record on GitHub looks like a path."""


@dataclass(frozen=True, slots=True)
class RepositoryRecord:
    place: str
    """The real path of the git directory; or `HOST/OWNER/NAME`, in lower case."""
    first_commit: str = ""
    """The oldest commit, by which a moved repository is recognized. Empty without commits."""

    @property
    def git_dir(self) -> Path | None:
        return Path(self.place) if self.place.startswith("/") else None

    def __str__(self) -> str:
        return self.place.removesuffix("/.git")


def identify_on_github(api_url: str, repository: str) -> RepositoryRecord:
    host = urlsplit(api_url).hostname or _NO_HOST
    return RepositoryRecord(f"{host.removeprefix(_API_PREFIX)}/{repository}".lower())


def identify_folder(folder: Path) -> RepositoryRecord | None:
    """The first commit is looked up once the record is written."""
    try:
        git_dir = git_dir_of(folder)
    except BotError:
        return None
    return RepositoryRecord(str(git_dir)) if git_dir else None


def claim_name(state_dir: Path, name: str, found: RepositoryRecord) -> None:
    """Writes the record if there is none. Raises CannotStart if another repository has the name."""
    record = _find_record_to_write(state_dir, name, found)
    if record is None:
        return
    refuse_foreign_folder(state_dir)
    with contextlib.suppress(OSError):  # a full disk, or a state that we may only read: nothing else is written either
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)  # the daemon closes one that is open, and says so
        if _read(_record_file(state_dir, name)):
            _write(_record_file(state_dir, name), record)
        elif not _write_first(_record_file(state_dir, name), record):
            claim_name(state_dir, name, found)  # another process was faster


def may_have_name(state_dir: Path, name: str, found: RepositoryRecord) -> bool:
    """Returns True if no other repository has the name in this state directory."""
    try:
        _find_record_to_write(state_dir, name, found)
    except CannotStart:
        return False
    return True


def is_state_of(state_dir: Path, name: str, found: RepositoryRecord) -> bool:
    """Returns True for the state of this repository alone, and for one without records that may be its own."""
    is_known = _record_file(state_dir, name).exists() or not (state_dir / _FOLDER).exists()
    return is_known and may_have_name(state_dir, name, found)


def is_known_state_of(state_dir: Path, name: str, found: RepositoryRecord) -> bool:
    """Returns True if a record, or the history that an earlier version copied, shows that it is its own."""
    has_sign = _record_file(state_dir, name).exists() or bool(found.git_dir and _copy_of(state_dir, name).exists())
    return has_sign and is_state_of(state_dir, name, found)


def take_over_name(state_dir: Path, name: str, found: RepositoryRecord) -> None:
    """Gives the name to this repository, with everything that is kept under it. Only a person decides that."""
    _write(_record_file(state_dir, name), _complete(found))


def _find_record_to_write(state_dir: Path, name: str, found: RepositoryRecord) -> RepositoryRecord | None:
    """Returns the record to write, or None if it is written already. Raises CannotStart for another repository."""
    known = _read(_record_file(state_dir, name))
    if known is None:
        _refuse_unrelated(state_dir, name, found)
        return _complete(found)
    if not _is_same(known, found):
        raise CannotStart(_refusal(state_dir, name, str(known), found))
    fresh = replace(found, first_commit=known.first_commit) if known.first_commit else _complete(found)
    return None if fresh == known else fresh


def _is_same(known: RepositoryRecord, found: RepositoryRecord) -> bool:
    """Returns True for a repository at its place, and for one that was moved or cloned again."""
    if known.git_dir is None or found.git_dir is None:
        return known.place == found.place
    if known.place != found.place and _is_still_there(known.git_dir, found.git_dir):
        return False
    if known.first_commit:
        return has_commit(found.git_dir, known.first_commit)
    return known.place == found.place


def _is_still_there(git_dir: Path, other: Path) -> bool:
    return (git_dir / "HEAD").exists() and not git_dir.samefile(other)


def _refuse_unrelated(state_dir: Path, name: str, found: RepositoryRecord) -> None:
    """A state without a record was written by an earlier version: its history tells which repository it is of."""
    bare = _copy_of(state_dir, name)
    if found.git_dir is None or not (bare / "HEAD").exists():
        return
    if (oldest := first_commit(bare)) and not has_commit(found.git_dir, oldest):
        raise CannotStart(_refusal(state_dir, name, f"a repository that has the commit {oldest[:10]}", found))


def _copy_of(state_dir: Path, name: str) -> Path:
    """The local forge's copy of the repository."""
    return state_dir / "forge" / f"{name}.git"


def _refusal(state_dir: Path, name: str, known: str, found: RepositoryRecord) -> str:
    return (
        f"In {state_dir}, the project {name!r} belongs to {known}, not to {found}. Nothing was changed. Give this "
        "project another `name`, or these settings another `state_dir`. If it is the same repository, which was "
        f"renamed or cloned again: `treehand add --moved {name}`."
    )


def _complete(found: RepositoryRecord) -> RepositoryRecord:
    return replace(found, first_commit=first_commit(found.git_dir)) if found.git_dir else found


def _record_file(state_dir: Path, name: str) -> Path:
    return state_dir / _FOLDER / f"{slug_for(name)}.json"


def _read(file: Path) -> RepositoryRecord | None:
    try:
        return RepositoryRecord(**json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise unusable_folder(file.parent.parent, problem) from problem
    except (TypeError, ValueError) as problem:
        raise CannotStart(
            f"{file} records which repository the state belongs to, and is damaged: {problem}. Restore it from a "
            "backup; or remove it, if you are sure that no other repository uses this `state_dir`."
        ) from problem


def _write(file: Path, record: RepositoryRecord) -> None:
    _fresh(file, record).replace(file)


def _write_first(file: Path, record: RepositoryRecord) -> bool:
    """Returns False if there is one already."""
    fresh = _fresh(file, record)
    try:
        os.link(fresh, file)
    except FileExistsError:
        return False
    finally:
        fresh.unlink()
    return True


def _fresh(file: Path, record: RepositoryRecord) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.write_text(json.dumps(asdict(record)), encoding="utf-8")
    return fresh
