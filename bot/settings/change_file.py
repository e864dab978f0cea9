"""Changes the operator's settings file: lists of `[sandbox]`, and projects. The rest of the file stays.

Rule: the new file takes the place of the old one only after it was read as settings.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from bot.errors import BadSettings
from bot.settings.load import load
from bot.settings.schema import Settings
from bot.settings.toml_text import add_table, add_to_list, remove_table

_PROJECTS = "projects"


def allow_setup_hosts(path: Path, hosts: Sequence[str]) -> bool:
    """Returns False if the file was left as it is, because there is no way to add them. Raises BadSettings."""
    return _add(path, "setup_hosts", hosts)


def add_tools(path: Path, folders: Sequence[str]) -> bool:
    """Returns what `allow_setup_hosts` returns."""
    return _add(path, "tools", folders)


def add_project(path: Path, lines: Sequence[str], accept: Callable[[Settings], None]) -> Settings:
    """Adds a project. `accept` raises if the new settings cannot be used; then the file stays as it is."""
    return _replace(path, add_table(_read(path), lines), accept)


def remove_project(path: Path, number: int) -> Settings:
    """Removes the project at this place in the list, with the comments between its keys."""
    changed = remove_table(_read(path), _PROJECTS, number)
    if changed is None:
        raise BadSettings(f"{path}: the project cannot be removed by a program. Remove its [[projects]] table by hand.")
    return _replace(path, changed, lambda _: None)


def _add(path: Path, key: str, words: Sequence[str]) -> bool:
    changed = add_to_list(_read(path), "sandbox", key, words)
    if changed is None:
        return False
    _replace(path, changed, lambda _: None)
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise BadSettings(f"{path} cannot be read: {problem.strerror}.") from problem


def _replace(path: Path, text: str, accept: Callable[[Settings], None]) -> Settings:
    path = path.resolve()
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        shutil.copymode(path, fresh)
        settings = load(fresh)
        accept(settings)
        fresh.replace(path)
    except OSError as problem:
        raise BadSettings(f"{path} cannot be written: {problem.strerror}.") from problem
    finally:
        fresh.unlink(missing_ok=True)
    return settings
