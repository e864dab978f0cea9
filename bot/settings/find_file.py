"""Finds the settings file: that of the current folder or of a folder above it, otherwise the user's own.

Rule: a file that an agent may have written is not found, nor one in a folder above that another user wrote.
"""

import os
from collections.abc import Iterator
from pathlib import Path

DEFAULT_FILE = "treehand.toml"
_LOCK = "daemon.lock"
_WRITTEN_BY_AGENTS = frozenset({"worktrees", "homes", "aside", "trash"})
"""Folders of a state directory."""


def settings_file(chosen: str = "") -> Path:
    """Returns the path of the file that a command uses; there may be none at that path."""
    if named := _named(chosen):
        return named
    folder = _current_folder()
    missing = user_settings_file() if is_written_by_agents(folder) else Path(DEFAULT_FILE)
    return find_file_for(folder) or missing


def new_settings_file(chosen: str = "") -> Path:
    """Returns the path of the file that `treehand init` writes."""
    return _named(chosen) or Path(DEFAULT_FILE)


def is_named(chosen: str = "") -> bool:
    """Returns True if an option or a variable names the settings file."""
    return _named(chosen) is not None


def find_file_for(folder: Path) -> Path | None:
    """Returns the file that commands in this folder use unless another one is named."""
    found = next((file for file in _above(folder) if file.is_file()), None)
    own = user_settings_file()
    return found or (own if own.is_file() else None)


def user_settings_file() -> Path:
    """The user's own file: a link to the settings in a repository, or a file."""
    return Path("~/.config/treehand").expanduser() / DEFAULT_FILE


def is_written_by_agents(folder: Path) -> bool:
    """Returns True in the folders of a state directory that agents write to."""
    places = (folder, *folder.parents)
    return any(place.name in _WRITTEN_BY_AGENTS and (place.parent / _LOCK).is_file() for place in places)


def _named(chosen: str) -> Path | None:
    name = chosen or os.environ.get("TREEHAND_CONFIG", "")
    return Path(name) if name else None


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # somebody has removed it
        return Path("/")


def _above(folder: Path) -> Iterator[Path]:
    for above in (folder, *folder.parents):
        file = above / DEFAULT_FILE
        if not is_written_by_agents(above) and (above == folder or _is_ours(file)):
            yield file


def _is_ours(file: Path) -> bool:
    """Returns True for a file of ours or of root: a folder above may be shared, such as /tmp."""
    try:
        return file.stat().st_uid in {0, os.geteuid()}
    except OSError:
        return False
