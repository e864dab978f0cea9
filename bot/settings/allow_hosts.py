"""Adds words to lists of `[sandbox]` in the operator's settings file, and keeps the rest of the file as it is."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from bot.errors import BadSettings
from bot.settings.load import load
from bot.settings.toml_text import add_to_list


def allow_setup_hosts(path: Path, hosts: Sequence[str]) -> bool:
    return _add(path, "setup_hosts", hosts)


def add_tools(path: Path, folders: Sequence[str]) -> bool:
    return _add(path, "tools", folders)


def _add(path: Path, key: str, words: Sequence[str]) -> bool:
    """Returns False if the file was left as it is, because there is no way to add them. Raises BadSettings.

    The new file takes the place of the old one only after it was read as settings.
    """
    path = path.resolve()
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        changed = add_to_list(path.read_text(encoding="utf-8"), "sandbox", key, words)
        if changed is None:
            return False
        fresh.write_text(changed, encoding="utf-8")
        shutil.copymode(path, fresh)
        load(fresh)
        fresh.replace(path)
    except OSError as problem:
        raise BadSettings(f"{path} cannot be written: {problem.strerror}.") from problem
    finally:
        fresh.unlink(missing_ok=True)
    return True
