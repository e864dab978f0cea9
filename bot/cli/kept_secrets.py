"""Secrets that `treehand init` keeps for people, in files that only they can read.

Rule: the folder is outside of every repository, so no secret can be committed, and no file is overwritten.
"""

import os
import re
from pathlib import Path

KEY_FOLDER = Path(".config/treehand")
"""Relative to the home folder."""


def secret_file(name: str) -> Path:
    return Path.home() / KEY_FOLDER / re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def keep_secret(file: Path, text: str) -> None:
    """Raises OSError, also if the file exists."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)
